mod developers;
mod scim;
