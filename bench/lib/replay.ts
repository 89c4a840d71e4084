import { connect, type Socket } from 'node:net';

/** A bare client: writes encoded commands and counts replies, nothing else. */
export interface Replayer {
  /** Sends `bytes`, which hold `count` commands with integer replies, and waits for all of these. */
  send(bytes: Buffer, count: number): Promise<void>;
  close(): void;
}

export async function openReplayer(url: string): Promise<Replayer> {
  const { hostname, port, password } = new URL(url);
  const socket: Socket = connect({ host: hostname, port: Number(port) });
  let awaited = 0;
  let settle = (): void => undefined;
  socket.on('data', (chunk) => {
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) awaited -= 1;
    if (awaited === 0) settle();
  });
  const send: Replayer['send'] = (bytes, count) =>
    new Promise((resolve, reject) => {
      awaited = count;
      settle = resolve;
      socket.once('error', reject);
      socket.write(bytes, () => socket.off('error', reject));
    });
  await send(encodeCommand('AUTH', password), 1);
  return { send, close: () => socket.destroy() };
}

export const encodeCommand = (...words: readonly string[]): Buffer =>
  Buffer.from(
    `*${String(words.length)}\r\n${words.map((it) => `$${String(Buffer.byteLength(it))}\r\n${it}\r\n`).join('')}`,
  );
