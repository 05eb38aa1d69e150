import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ports that Linux, macOS and Windows give to who asks for any, and to connections. */
const [FROM, TO] = [20_000, 30_000];

/** Where this process goes on. Of ports drawn at random, one that nobody listens on yet would be drawn twice now and then. */
let next = randomInt(FROM, TO);

/**
 * Returns a port of 127.0.0.1 that nobody listens on, another one each time. A daemon that is killed finds it free when it starts
 * again: the system gives it to nobody else.
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
