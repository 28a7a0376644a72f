//! The colours of a PNG image.

#[derive(Debug)]
pub struct Pixels {
    pub width: u32,
    pub height: u32,
    samples: Vec<u8>,
    line: usize,
    each: usize,
}

impl Pixels {
    #[track_caller]
    #[must_use]
    pub fn from_png(png: &[u8]) -> Self {
        let mut reader = png::Decoder::new(std::io::Cursor::new(png))
            .read_info()
            .unwrap();
        let mut samples = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut samples).unwrap();
        Self {
            width: frame.width,
            height: frame.height,
            samples,
            line: frame.line_size,
            each: frame.color_type.samples(),
        }
    }

    /// Returns red, green and blue.
    #[must_use]
    pub fn at(&self, x: usize, y: usize) -> [u8; 3] {
        let start = y * self.line + x * self.each;
        [0, 1, 2].map(|sample| self.samples[start + sample])
    }
}
