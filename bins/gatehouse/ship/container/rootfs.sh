#!/bin/sh
# Collects the files of the image: `rootfs.sh PROGRAM DIRECTORY`. Runs on Debian, as root.
set -eu

program=$1
root=$2

install -d "$root/usr/bin" "$root/etc/ssl/certs" "$root/tmp" "$root/var/lib"
install -d -o 10001 -g 10001 -m 0700 "$root/var/lib/gatehouse"
chmod 1777 "$root/tmp"
strip --strip-all -o "$root/usr/bin/gatehouse" "$program"

# The shared libraries that the program loads, with the loader itself, at the paths where it looks for them. libxmlsec1
# opens its OpenSSL part while it runs.
crypto=$(find /usr/lib /lib -name 'libxmlsec1-openssl.so*' | head -n 1)
for file in "$program" "$crypto"; do
    ldd "$file" | sed -n -e 's/.*=> \(\/[^ ]*\).*/\1/p' -e 's/^[[:space:]]*\(\/[^ ]*\) .*/\1/p'
done | sort -u | while read -r library; do
    install -D -m 0755 "$(readlink -f "$library")" "$root$library"
done
install -D -m 0755 "$(readlink -f "$crypto")" "$root$crypto"

# Names, root certificates and time zones of the outside world.
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
echo 'gatehouse:x:10001:10001::/var/lib/gatehouse:/usr/sbin/nologin' > "$root/etc/passwd"
echo 'gatehouse:x:10001:' > "$root/etc/group"
echo 'hosts: files dns' > "$root/etc/nsswitch.conf"
