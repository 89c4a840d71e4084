import { isUtf8 } from 'node:buffer';

/** A line of a file, counted from 1; `fault` says why it cannot even be read. */
export type SourceLine = { readonly lineNo: number } & ({ readonly text: string } | { readonly fault: string });

/** A longer line is a fault of its own: memory stays bounded whatever the file holds. */
export const LINE_BYTES_MAX = 1024 * 1024;

const NEWLINE = 0x0a;

/**
 * Cuts a stream of bytes into lines. Blank lines are counted and passed over. Node's readline would replace what is not
 * UTF-8 without a word, and keep a file without line ends in memory.
 */
export async function* splitLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<SourceLine> {
  let lineNo = 1;
  let rest: Buffer = Buffer.alloc(0);
  let isTooLong = false;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const piece = chunk.subarray(start, end);
      const line = readBytes(rest.length > 0 ? Buffer.concat([rest, piece]) : piece, lineNo, isTooLong);
      if (line) yield line;
      lineNo += 1;
      start = end + 1;
      rest = Buffer.alloc(0);
      isTooLong = false;
    }
    isTooLong ||= rest.length + chunk.length - start > LINE_BYTES_MAX;
    rest = isTooLong ? Buffer.alloc(0) : Buffer.concat([rest, chunk.subarray(start)]);
  }
  const line = readBytes(rest, lineNo, isTooLong);
  if (line) yield line;
}

function readBytes(bytes: Buffer, lineNo: number, isTooLong: boolean): SourceLine | null {
  if (isTooLong || bytes.length > LINE_BYTES_MAX) return { lineNo, fault: `longer than ${LINE_BYTES_MAX} bytes` };
  if (!isUtf8(bytes)) return { lineNo, fault: 'not UTF-8' };
  // trim() also takes the byte order mark and the \r of another system's line ends.
  const text = bytes.toString('utf8').trim();
  return text === '' ? null : { lineNo, text };
}
