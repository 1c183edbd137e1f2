//! Ranks client addresses by memory, to decide which bodies to evict.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use tokio::sync::Notify;

use super::limit::BodyRefusal;

/// The memory use of all addresses.
pub(crate) struct MemoryShares {
    memory: usize,
    memory_of_address: usize,
    waiting_of_address: usize,
    next_id: u64,
    bytes: usize,
    waiting: usize,
    addresses: HashMap<Arc<str>, AddressShare>,
    /// Addresses ordered by the bytes of their pending bodies. Of two with equal bytes, the older one is last.
    ranking: BTreeSet<Rank>,
}

type Rank = (usize, Reverse<u64>, Arc<str>);

/// The memory use of one address.
#[derive(Default)]
struct AddressShare {
    /// The id of its first body.
    since: u64,
    /// The bytes of all its bodies.
    bytes: usize,
    /// The bytes of its pending bodies.
    waiting_bytes: usize,
    /// Its pending bodies, oldest first.
    waiting: BTreeMap<u64, WaitingBody>,
}

struct WaitingBody {
    bytes: usize,
    notify: Arc<Notify>,
}

/// A reference to a body in the ranking.
pub(crate) struct Body<'a> {
    pub(crate) address: &'a Arc<str>,
    pub(crate) id: u64,
    /// Whether it was counted as pending.
    pub(crate) is_waiting: bool,
}

impl MemoryShares {
    pub(crate) fn new(memory: usize, memory_of_address: usize, waiting_of_address: usize) -> Self {
        Self {
            memory,
            memory_of_address,
            waiting_of_address,
            next_id: 0,
            bytes: 0,
            waiting: 0,
            addresses: HashMap::new(),
            ranking: BTreeSet::new(),
        }
    }

    pub(crate) fn next_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Counts `bytes` more for a body.
    pub(crate) fn grow(
        &mut self,
        body: &Body<'_>,
        bytes: usize,
        evicted: &mut Vec<Arc<Notify>>,
    ) -> Result<(), BodyRefusal> {
        if body.is_waiting && !self.is_waiting(body) {
            return Err(BodyRefusal::Memory);
        }
        self.make_room(body.address, bytes, evicted)?;
        self.bytes += bytes;
        let share = self.share(body);
        share.bytes += bytes;
        let (since, before) = (share.since, share.waiting_bytes);
        if let Some(waiting) = share.waiting.get_mut(&body.id) {
            waiting.bytes += bytes;
            share.waiting_bytes += bytes;
            let after = share.waiting_bytes;
            self.rank(body.address, since, before, after);
        }
        Ok(())
    }

    /// Counts a body, for which `counted` bytes are counted already, as pending with `more` bytes.
    pub(crate) fn start_waiting(
        &mut self,
        body: &Body<'_>,
        (counted, more): (usize, usize),
        notify: &Arc<Notify>,
        evicted: &mut Vec<Arc<Notify>>,
    ) -> Result<(), BodyRefusal> {
        let share = self.addresses.get(body.address);
        if share.is_some_and(|share| share.waiting.len() >= self.waiting_of_address) {
            return Err(BodyRefusal::Address);
        }
        self.make_room(body.address, more, evicted)?;
        self.bytes += more;
        self.waiting += 1;
        let share = self.share(body);
        share.bytes += more;
        share.waiting.insert(body.id, WaitingBody { bytes: counted + more, notify: Arc::clone(notify) });
        let (since, before) = (share.since, share.waiting_bytes);
        share.waiting_bytes += counted + more;
        let after = share.waiting_bytes;
        self.rank(body.address, since, before, after);
        Ok(())
    }

    fn share(&mut self, body: &Body<'_>) -> &mut AddressShare {
        let new = || AddressShare { since: body.id, ..AddressShare::default() };
        self.addresses.entry(Arc::clone(body.address)).or_insert_with(new)
    }

    fn is_waiting(&self, body: &Body<'_>) -> bool {
        self.addresses.get(body.address).is_some_and(|share| share.waiting.contains_key(&body.id))
    }

    /// Removes a body from the pending ones and releases `less` bytes. Returns `None` if it was evicted.
    pub(crate) fn finish_waiting(&mut self, address: &Arc<str>, id: u64, less: usize) -> Option<()> {
        self.take_waiting(address, id)?;
        self.give_back(address, less);
        Some(())
    }

    /// Releases all memory of a pending body, unless it was evicted.
    pub(crate) fn abandon(&mut self, address: &Arc<str>, id: u64) {
        if let Some(waiting) = self.take_waiting(address, id) {
            self.give_back(address, waiting.bytes);
        }
    }

    pub(crate) fn give_back(&mut self, address: &Arc<str>, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
        if let Some(share) = self.addresses.get_mut(address) {
            share.bytes = share.bytes.saturating_sub(bytes);
            if share.bytes == 0 && share.waiting.is_empty() {
                self.addresses.remove(address);
            }
        }
    }

    fn take_waiting(&mut self, address: &Arc<str>, id: u64) -> Option<WaitingBody> {
        let share = self.addresses.get_mut(address)?;
        let waiting = share.waiting.remove(&id)?;
        self.waiting = self.waiting.saturating_sub(1);
        let before = share.waiting_bytes;
        share.waiting_bytes = before.saturating_sub(waiting.bytes);
        let (since, after) = (share.since, share.waiting_bytes);
        self.rank(address, since, before, after);
        Some(waiting)
    }

    /// Makes room for `bytes` more of this address. If the memory is full, evicts pending bodies, oldest first, of
    /// the address whose pending bodies use the most.
    fn make_room(
        &mut self,
        address: &Arc<str>,
        bytes: usize,
        evicted: &mut Vec<Arc<Notify>>,
    ) -> Result<(), BodyRefusal> {
        let own = self.addresses.get(address).map_or(0, |share| share.bytes) + bytes;
        if own > self.memory_of_address {
            return Err(BodyRefusal::Address);
        }
        while self.bytes + bytes > self.memory {
            let Some((most, _, largest)) = self.ranking.last().cloned() else {
                return Err(BodyRefusal::Memory);
            };
            if most < own || largest == *address {
                return Err(BodyRefusal::Memory);
            }
            let oldest = self.addresses.get(&largest).and_then(|share| share.waiting.keys().next().copied());
            let waiting = oldest.and_then(|id| self.take_waiting(&largest, id)).ok_or(BodyRefusal::Memory)?;
            self.give_back(&largest, waiting.bytes);
            evicted.push(waiting.notify);
        }
        Ok(())
    }

    fn rank(&mut self, address: &Arc<str>, since: u64, before: usize, after: usize) {
        self.ranking.remove(&(before, Reverse(since), Arc::clone(address)));
        if after > 0 {
            self.ranking.insert((after, Reverse(since), Arc::clone(address)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1024;

    struct WaitingPermit {
        address: Arc<str>,
        id: u64,
    }

    fn grow(shares: &mut MemoryShares, waits: &WaitingPermit, bytes: usize) -> Result<(), BodyRefusal> {
        let body = Body { address: &waits.address, id: waits.id, is_waiting: true };
        shares.grow(&body, bytes, &mut Vec::new())
    }

    fn wait(
        shares: &mut MemoryShares,
        address: &str,
        bytes: usize,
    ) -> Result<(WaitingPermit, usize), BodyRefusal> {
        let (address, id) = (Arc::from(address), shares.next_id());
        let mut evicted = Vec::new();
        let body = Body { address: &address, id, is_waiting: false };
        shares.start_waiting(&body, (0, bytes), &Arc::new(Notify::new()), &mut evicted)?;
        Ok((WaitingPermit { address, id }, evicted.len()))
    }

    #[test]
    fn address_using_the_most_is_evicted_for_smaller_ones() {
        let mut shares = MemoryShares::new(100 * KIB, 100 * KIB, 100);
        let attackers = ["a", "b", "c", "d"];
        for address in attackers.iter().cycle().take(100) {
            wait(&mut shares, address, KIB).unwrap();
        }
        assert_eq!((shares.bytes(), shares.waiting()), (100 * KIB, 100));
        let (honest, evicted) = wait(&mut shares, "honest", 10 * KIB).unwrap();
        assert_eq!(evicted, 10);
        assert_eq!(shares.bytes(), 100 * KIB, "the limit is respected");
        assert_eq!(wait(&mut shares, "a", 20 * KIB).err(), Some(BodyRefusal::Memory), "it uses the most");
        assert!(shares.finish_waiting(&honest.address, honest.id, 0).is_some(), "it was never evicted");
        shares.give_back(&honest.address, 10 * KIB);
    }

    #[test]
    fn address_has_a_limit_and_is_removed_when_empty() {
        let mut shares = MemoryShares::new(100 * KIB, 25 * KIB, 3);
        let (first, _) = wait(&mut shares, "a", KIB).unwrap();
        let others: Vec<_> = (0..2).map(|_| wait(&mut shares, "a", KIB).unwrap().0).collect();
        assert_eq!(wait(&mut shares, "a", KIB).err(), Some(BodyRefusal::Address));
        assert_eq!(grow(&mut shares, &first, 23 * KIB).err(), Some(BodyRefusal::Address));
        grow(&mut shares, &first, 22 * KIB).unwrap();
        for one in others.into_iter().chain([first]) {
            shares.abandon(&one.address, one.id);
        }
        assert_eq!((shares.bytes(), shares.waiting()), (0, 0));
        assert!(shares.addresses.is_empty() && shares.ranking.is_empty());
    }

    #[test]
    fn of_addresses_with_equal_use_the_oldest_is_evicted() {
        let mut shares = MemoryShares::new(3 * KIB, 3 * KIB, 100);
        for address in ["b", "z", "a"] {
            wait(&mut shares, address, KIB).unwrap();
        }
        for expected in ["b", "z", "a"] {
            wait(&mut shares, &format!("after {expected}"), KIB).unwrap();
            assert!(!shares.addresses.contains_key(expected), "{expected} is still pending");
        }
    }

    #[test]
    fn evicted_body_is_released_once() {
        let mut shares = MemoryShares::new(10 * KIB, 10 * KIB, 100);
        let (large, _) = wait(&mut shares, "a", 10 * KIB).unwrap();
        let (_, evicted) = wait(&mut shares, "b", KIB).unwrap();
        assert_eq!(evicted, 1);
        assert_eq!(
            grow(&mut shares, &large, KIB).err(),
            Some(BodyRefusal::Memory),
            "it is no longer counted"
        );
        assert!(shares.finish_waiting(&large.address, large.id, 0).is_none());
        shares.abandon(&large.address, large.id);
        assert_eq!((shares.bytes(), shares.waiting()), (KIB, 1));
    }
}
