//! Newline framing for stdio: each line is a message, read up to a limit.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// The outcome of [`read_line`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    Whole,
    /// The line exceeds the limit: its beginning was read, the rest was skipped.
    Truncated,
    /// The stream has ended.
    End,
}

/// Reads the next line into `line`, without its line break.
pub async fn read_line(
    reader: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
    max: usize,
) -> io::Result<Line> {
    line.clear();
    let mut cut = false;
    loop {
        let buffer = reader.fill_buf().await?;
        if buffer.is_empty() {
            // The last line may lack its line break.
            let is_end = line.is_empty();
            return Ok(if is_end { Line::End } else { Line::Whole });
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(buffer.len());
        let room = max - line.len();
        cut |= taken > room;
        line.extend_from_slice(&buffer[..taken.min(room)]);
        reader.consume(end.map_or(taken, |end| end + 1));
        if end.is_some() {
            return Ok(if cut { Line::Truncated } else { Line::Whole });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_long_line_is_cut_and_the_next_one_is_whole() {
        let mut text: &[u8] = b"0123456789\n01234\n\nlast";
        let mut line = Vec::new();
        let mut seen = Vec::new();
        loop {
            match read_line(&mut text, &mut line, 5).await.unwrap() {
                Line::End => break,
                kind => seen.push((kind, String::from_utf8(line.clone()).unwrap())),
            }
        }
        let expect = [
            (Line::Truncated, "01234"),
            (Line::Whole, "01234"),
            (Line::Whole, ""),
            (Line::Whole, "last"),
        ];
        assert_eq!(seen, expect.map(|(kind, text)| (kind, text.to_owned())));
    }
}
