import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A TCP way to a server that can be cut, paused and led elsewhere, as a network does it. */
export interface Proxy {
  /** The server's URL with the proxy's address. */
  readonly url: string;
  /** Drops all connections and refuses new ones. */
  cut(): void;
  mend(): void;
  /** Holds back all bytes, both ways; nobody is told. New connections wait too. */
  pause(): void;
  resume(): void;
  /** Connections from now on lead to another server; present ones stay until they are cut. */
  lead(serverUrl: string): void;
  close(): Promise<void>;
}

export async function startProxy(serverUrl: string): Promise<Proxy> {
  let target = new URL(serverUrl);
  const sockets = new Map<Socket, Socket>();
  let isCut = false;
  let isPaused = false;
  const server = createServer((inner) => {
    if (isCut) {
      inner.destroy();
      return;
    }
    const outer = connect(Number(target.port), target.hostname);
    for (const [one, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      sockets.set(one, other);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
      if (!isPaused) one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(serverUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    cut() {
      isCut = true;
      for (const socket of sockets.keys()) socket.destroy();
    },
    mend() {
      isCut = false;
    },
    pause() {
      isPaused = true;
      for (const [one, other] of sockets) one.unpipe(other);
    },
    resume() {
      if (!isPaused) return;
      isPaused = false;
      for (const [one, other] of sockets) one.pipe(other);
    },
    lead(serverUrl) {
      target = new URL(serverUrl);
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets.keys()) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
