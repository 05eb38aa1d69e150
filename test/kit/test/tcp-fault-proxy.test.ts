import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { setImmediate as turn, setTimeout as delay } from "node:timers/promises";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { startTcpFaultProxy } from "../faults/tcp-fault-proxy.ts";
import type { TcpFaultProxy } from "../faults/tcp-fault-proxy.ts";

/** Answers every piece of data with the same in upper case, and records what it was sent. */
let service: EchoService;
let proxy: TcpFaultProxy;

beforeEach(async () => {
  service = await startEcho();
  proxy = await startTcpFaultProxy(service.port);
  return async () => {
    await proxy.stop();
    service.stop();
  };
});

describe("without a fault", () => {
  test("passes both directions through, and counts what clients send", async () => {
    const client = new Client(proxy.port);
    await client.ask("hello", "HELLO");
    await client.ask(" again", "HELLO AGAIN");
    expect(proxy.requestsSeen).toBe(2);
    expect(proxy.host).toBe(`127.0.0.1:${proxy.port}`);
  });

  test("passes much more data than its buffers hold to a slow reader, complete", async () => {
    const megabytes = 128;
    const client = connect({ port: proxy.port, allowHalfOpen: true });
    const block = Buffer.alloc(1024 * 1024, "x");
    let [written, received] = [0, 0];
    client.pause();
    const sent = (async () => {
      for (; written < megabytes; written += 1) if (!client.write(block)) await once(client, "drain");
      client.end();
    })();
    // The echo has no reader for a while, so all writers have to wait. The system's buffers hold some of it.
    await delay(300);
    expect(written).toBeLessThan(megabytes / 2);

    client.on("data", (chunk) => (received += chunk.length)).resume();
    await Promise.all([sent, once(client, "end")]);

    expect(received).toBe(megabytes * block.length);
  });
});

describe("lost requests", () => {
  test("never reach the service, on present and on new connections", async () => {
    const present = new Client(proxy.port);
    await present.ask("a", "A");

    proxy.loseRequests();
    present.send("b");
    const fresh = new Client(proxy.port);
    fresh.send("c");
    await expect.poll(() => proxy.requestsSeen).toBe(3);

    expect([present.isOpen, fresh.isOpen]).toEqual([true, true]);
    proxy.heal();
    await new Client(proxy.port).ask("d", "D");
    expect(service.received).toBe("ad");
  });

  test("end the connection once healed, so that nothing is sent after a gap; others stay", async () => {
    const [victim, idle] = [new Client(proxy.port), new Client(proxy.port)];
    await Promise.all([victim.ask("a", "A"), idle.ask("b", "B")]);
    proxy.loseRequests();
    victim.send("lost");
    await expect.poll(() => proxy.requestsSeen).toBe(3);

    proxy.heal();

    await victim.closed;
    await idle.ask("c", "BC");
    await new Client(proxy.port).ask("d", "D");
    expect(service.received).not.toContain("lost");
  });
});

describe("lost replies", () => {
  test("answer requests that were carried out", async () => {
    const client = new Client(proxy.port);
    await client.ask("a", "A");

    proxy.loseReplies();
    let answered = false;
    const both = Promise.all([proxy.waitForBytes(), proxy.waitForReplies()]).then(() => (answered = true));
    await turn();
    expect(answered).toBe(false);
    client.send("b");
    await both;

    expect(service.received).toBe("ab");
    proxy.heal();
    await client.closed;
    expect(client.received).toBe("A");
    await new Client(proxy.port).ask("c", "C");
  });
});

describe("held requests", () => {
  test("are delivered in order when they are released, and later data pass", async () => {
    const client = new Client(proxy.port);
    await client.ask("a", "A");

    const release = proxy.holdRequests();
    client.send("b");
    await expect.poll(() => proxy.requestsSeen).toBe(2);
    client.send("c");
    await expect.poll(() => proxy.requestsSeen).toBe(3);
    expect(service.received).toBe("a");
    release();

    await client.ask("d", "ABCD");
    expect(service.received).toBe("abcd");
  });

  test("are delivered even if their client has gone away", async () => {
    const client = new Client(proxy.port);
    await client.ask("a", "A");
    const [connection] = service.connections;
    const release = proxy.holdRequests();
    client.send("b");
    await expect.poll(() => proxy.requestsSeen).toBe(2);
    client.socket.resetAndDestroy();
    await proxyHasCaughtUp();
    expect(service.received).toBe("a");

    release();

    await proxy.waitForBytes();
    await expect.poll(() => [...service.received].toSorted()).toEqual(["!", "a", "b"]);
    await expect.poll(() => service.connections).not.toContain(connection);
  });

  test("are lost when their connection is, and an old release does not end a newer fault", async () => {
    const release = proxy.holdRequests();
    const client = new Client(proxy.port);
    client.send("a");
    await expect.poll(() => proxy.requestsSeen).toBe(1);
    proxy.cut();
    await client.closed;
    proxy.heal();
    proxy.loseRequests();
    release();
    new Client(proxy.port).send("b");
    await expect.poll(() => proxy.requestsSeen).toBe(2);
    proxy.heal();
    await new Client(proxy.port).ask("c", "C");
    expect(service.received).toBe("c");
  });
});

describe("forgotten connections", () => {
  test("lose everything without an end or a reset, and new ones are served", async () => {
    const forgotten = new Client(proxy.port);
    await forgotten.ask("a", "A");
    proxy.forget();
    forgotten.send("b");
    await new Client(proxy.port).ask("c", "C");
    expect(forgotten).toMatchObject({ received: "A", isOpen: true });

    proxy.heal();
    await forgotten.closed;
  });
});

describe("a cut", () => {
  test("breaks present and new connections, until it is healed", async () => {
    const present = new Client(proxy.port);
    await present.ask("a", "A");

    proxy.cut();
    await present.closed;
    const refused = new Client(proxy.port);
    refused.send("b");
    await refused.closed;
    expect(service.received).toBe("a");

    proxy.heal();
    await new Client(proxy.port).ask("c", "C");
  });
});

describe("a delay", () => {
  test("holds both directions for that time, in order, also data under way when it ends", async () => {
    const client = new Client(proxy.port);
    await client.ask("a", "A");
    proxy.delay(150);
    const sentMs = performance.now();
    client.send("b");
    await expect.poll(() => proxy.requestsSeen).toBe(2);
    client.send("c");
    await expect.poll(() => proxy.requestsSeen).toBe(3);
    await client.ask("", "ABC");
    // Both directions together. A slow machine takes longer.
    expect(performance.now() - sentMs).toBeGreaterThanOrEqual(299);

    client.send("d");
    await expect.poll(() => proxy.requestsSeen).toBe(4);
    proxy.heal();
    await client.ask("e", "ABCDE");
    expect(service.received).toBe("abcde");
    // Far longer than this test may take.
    proxy.delay(600_000);
    proxy.heal();
    await client.ask("f", "ABCDEF");
  });
});

describe("cut replies", () => {
  test("end in the middle, with their connection, on new connections too, until they are healed", async () => {
    const present = new Client(proxy.port);
    await present.ask("a", "A");

    proxy.cutReplies();
    present.send("four");
    await present.closed;
    expect(present.received).toBe("AFO");
    const next = new Client(proxy.port);
    next.send("six");
    await next.closed;
    expect(next.received).toBe("S");
    // Both requests were carried out.
    expect(service.received).toBe("afoursix");
    await expect.poll(() => service.connections.size).toBe(0);

    proxy.heal();
    await new Client(proxy.port).ask("c", "C");
  });
});

test("stop ends connections in every state, and every wait", async () => {
  const client = new Client(proxy.port);
  await client.ask("a", "A");
  proxy.holdRequests();
  proxy.loseReplies();
  client.send("b");
  const [bytes, replies] = await Promise.all([
    Promise.allSettled([proxy.waitForBytes(), proxy.waitForReplies()]),
    Promise.all([proxy.stop(), proxy.stop()]),
  ]).then(([settled]) => settled);

  expect([bytes?.status, replies?.status]).toEqual(["rejected", "rejected"]);
  await client.closed;
  await expect.poll(() => service.connections.size).toBe(0);
  await expect(proxy.waitForBytes()).rejects.toThrow("has been stopped");
});

/** Resolves once the proxy has got all earlier events of the system: the data of another client come after these. */
async function proxyHasCaughtUp(): Promise<void> {
  const seen = proxy.requestsSeen;
  const other = new Client(proxy.port);
  other.send("!");
  await expect.poll(() => proxy.requestsSeen).toBe(seen + 1);
  await turn();
}

interface EchoService {
  readonly port: number;
  readonly connections: ReadonlySet<Socket>;
  /** All data that it was sent, on any connection. */
  readonly received: string;
  stop(): void;
}

async function startEcho(): Promise<EchoService> {
  const connections = new Set<Socket>();
  let received = "";
  const server: Server = createServer((socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      if (chunk.length < 1024) received += chunk.toString();
      if (!socket.write(chunk.toString().toUpperCase())) socket.pause();
    });
    socket.on("drain", () => socket.resume());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    connections,
    get received() {
      return received;
    },
    stop: () => {
      server.close();
      for (const connection of connections) connection.destroy();
    },
  };
}

class Client {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  received = "";
  isOpen = true;

  constructor(port: number) {
    this.socket = connect(port, "127.0.0.1");
    this.socket.setNoDelay(true);
    this.socket.on("error", () => {});
    this.socket.on("data", (chunk) => (this.received += chunk.toString()));
    this.closed = new Promise((resolve) => {
      this.socket.once("close", () => {
        this.isOpen = false;
        resolve();
      });
    });
    onTestFinished(() => void this.socket.destroy());
  }

  send(data: string): void {
    this.socket.write(data);
  }

  /** Sends data, and waits until all data received so far are `received`. */
  async ask(data: string, received: string): Promise<void> {
    this.send(data);
    await expect.poll(() => this.received, { interval: 5 }).toBe(received);
  }
}
