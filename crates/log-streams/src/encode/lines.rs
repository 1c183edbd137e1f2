//! Lines of JSON, and files of them.

use std::io::{self, Write};

use flate2::{Compression, write::GzEncoder};

use super::Batch;

/// Returns the events as lines of JSON.
pub(crate) fn lines(batch: &Batch) -> Vec<u8> {
    let mut out = Vec::with_capacity(batch.records.iter().map(|record| record.json.len() + 1).sum());
    for record in &batch.records {
        out.extend_from_slice(record.json.as_bytes());
        out.push(b'\n');
    }
    out
}

/// Returns the same lines, compressed with gzip.
pub(crate) fn compressed_lines(batch: &Batch) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&lines(batch))?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::{super::batch::tests::batch, *};

    #[test]
    fn files_have_the_same_lines() {
        let batch = batch(0..3, 3);
        let plain = String::from_utf8(lines(&batch)).unwrap();
        assert_eq!(plain.lines().count(), 4);
        assert!(plain.ends_with('\n') && plain.lines().all(|line| line.starts_with("{\"activity_id\":")));
        let mut unpacked = String::new();
        let packed = compressed_lines(&batch).unwrap();
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut unpacked).unwrap();
        assert_eq!(unpacked, plain);
    }
}
