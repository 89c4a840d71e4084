import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A TCP way to a server that can be cut and mended, as a network does it. */
export interface Proxy {
  /** The server's URL with the proxy's address. */
  readonly url: string;
  /** Drops all connections and refuses new ones. */
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

export async function startProxy(serverUrl: string): Promise<Proxy> {
  const target = new URL(serverUrl);
  const sockets = new Set<Socket>();
  let isCut = false;
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
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(serverUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    mend() {
      isCut = false;
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
