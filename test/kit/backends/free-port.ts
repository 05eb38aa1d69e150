import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** A range below the ports that Linux, macOS and Windows give to connections, and to a request for any port. */
const [FROM, TO] = [20_000, 30_000];

/** The next port of this process. Random ports would sometimes repeat while no process listens on them yet. */
let next = randomInt(FROM, TO);

/**
 * Returns an unused port of 127.0.0.1, another one each time. A daemon that was killed finds its port free again, because the
 * system gives it to no other process.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = next;
    next = port + 1 < TO ? port + 1 : FROM;
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
