//! The text form of a golden script.

/// A command and its answer.
#[derive(Clone, Debug)]
pub struct Block {
    /// Comments and empty lines before it.
    pub before: Vec<String>,
    pub command: Vec<String>,
    pub answer: Vec<String>,
}

/// Takes a script apart.
pub fn parse(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut before = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.is_empty() || line.starts_with('#') {
            before.push(line.to_string());
            continue;
        }
        let mut command = vec![line.to_string()];
        while !is_complete(&command) {
            command.push(lines.next().expect("the end of the command").to_string());
        }
        let answer = lines.by_ref().take_while(|line| !line.is_empty()).map(str::to_string);
        let answer = answer.collect();
        blocks.push(Block { before: std::mem::take(&mut before), command, answer });
    }
    blocks
}

fn is_complete(command: &[String]) -> bool {
    let (first, last) = (&command[0], &command[command.len() - 1]);
    match first.chars().nth(1) {
        Some('>' | '&' | '~') => last.ends_with(';'),
        Some('$') => last.ends_with(']'),
        Some('<') => last == "\\.",
        _ => true,
    }
}

/// Puts a script together.
pub fn print(blocks: &[Block]) -> String {
    let mut text = String::new();
    for (index, block) in blocks.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        // One empty line is the end of the block before; further ones are the author's.
        let before = block.before.iter();
        for line in before.chain(&block.command).chain(&block.answer) {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}
