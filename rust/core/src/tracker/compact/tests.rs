use super::numbers::BEHIND;
use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn numbers_come_back(base_ns in any::<i64>(), numbers in prop::collection::vec((any::<i64>(), 0u32..64), 0..60), small in prop::collection::vec(-3i64..3, 0..40)) {
        let mut scratch = Scratch::default();
        let mut writer = Writer::new(&mut scratch.0);
        writer.origin(&mut base_ns.clone());
        // Of every length.
        let numbers: Vec<i64> = numbers.iter().map(|(number, shift)| number >> shift).chain(small).collect();
        for value in &numbers {
            writer.number(&mut value.clone());
            writer.time(&mut value.clone());
            Some(*value as u32).walk(&mut writer);
        }
        let bytes = writer.finish();
        let mut reader = Reader::new(bytes);
        let (mut found, mut maybe) = (0, None);
        reader.origin(&mut found);
        prop_assert_eq!(found, base_ns);
        for value in &numbers {
            reader.number(&mut found);
            prop_assert_eq!(found, *value);
            reader.time(&mut found);
            prop_assert_eq!(found, *value);
            maybe.walk(&mut reader);
            prop_assert_eq!(maybe, Some(*value as u32));
        }
        prop_assert_eq!(reader.at + BEHIND, bytes.len());
    }
}

/// Every field as large as it gets, and as many runs as are packed.
#[test]
fn the_longest_has_room() {
    struct Longest<'a, 'b>(&'a mut Writer<'b>);
    impl Walk for Longest<'_, '_> {
        const READS: bool = false;
        fn number(&mut self, _: &mut i64) {
            self.0.number(&mut i64::MIN.clone());
        }
        fn time(&mut self, value: &mut i64) {
            self.number(value);
        }
        fn origin(&mut self, value: &mut i64) {
            self.number(value);
        }
    }
    let mut connection = Connection::blank();
    for sender in &mut connection.senders {
        sender.path = Some(Box::new(crate::tracker::path::Path::full()));
        for run in 0..FEW as i64 {
            sender.outstanding.send(run * 10, run * 10 + 5, run);
        }
    }
    let mut scratch = Scratch::default();
    let mut writer = Writer::new(&mut scratch.0);
    connection.walk(&mut Longest(&mut writer));
    assert!(writer.finish().len() < ROOM);
}
