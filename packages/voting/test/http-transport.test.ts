/** One server's handling of the packets of another server, and of a process that pretends to be one. */
import { once } from "node:events";
import { createServer, type Server as HttpServer } from "node:http";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import type { VotingLeaseStore } from "@leasehold/voting";
import { HttpTransport } from "../src/http-transport.ts";
import type { Request } from "../src/messages.ts";
import { Seal, type Packet, type Reply } from "../src/packet.ts";
import { clusterOf } from "../src/roster.ts";
import { WarningLog } from "../src/warning-log.ts";
import { elect, lead } from "./one-election.ts";
import { elected, eventually, REQUEST, SECRET, Servers, warnings } from "./servers.ts";

const NAMES = ["a", "b"];
const TELL: Request = { kind: "TELL" };

const sign = (body: string): string => new Seal(SECRET).sign(body);

/** A server `b` that only says which start it is. */
class Stranger {
  /** The start that it names. */
  start = "b1";
  /** The other fields of its answers. */
  says: Partial<Reply> = {};
  readonly #servers: Servers;
  readonly #http: HttpServer;
  #id = 0;

  private constructor(servers: Servers) {
    this.#servers = servers;
    this.#http = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () => {
        const { from, start, id } = JSON.parse(body) as Packet<Request>;
        const reply = { ...this.packet([]), from: "b", to: from, toStart: start, id, isReply: true, ...this.says };
        const text = JSON.stringify(reply);
        response.setHeader("x-leasehold-signature", sign(text)).end(text);
      });
    });
  }

  static async beside(servers: Servers): Promise<Stranger> {
    const stranger = new Stranger(servers);
    const { port, hostname } = new URL(servers.addresses["b"] ?? "");
    stranger.#http.listen(Number(port), hostname);
    await once(stranger.#http, "listening");
    onTestFinished(() => stranger.leave());
    return stranger;
  }

  async leave(): Promise<void> {
    this.#http.closeAllConnections();
    if (this.#http.listening) await new Promise((resolve) => void this.#http.close(resolve));
  }

  /** A packet of its own to `a`. */
  packet(contents: readonly Request[], others: Partial<Packet<Request>> = {}): Packet<Request> {
    this.#id += 1;
    const header = { cluster: clusterOf(NAMES), from: "b", to: "a", start: this.start, toStart: undefined, writes: 0, seen: 0 };
    return { ...header, id: this.#id, servers: NAMES, contents, ...others };
  }

  async post(packet: Packet<Request>): Promise<Reply> {
    const body = JSON.stringify(packet);
    const response = await fetch(`${this.#servers.addresses["a"]}/leasehold/voting`, {
      method: "POST",
      body,
      headers: { "x-leasehold-signature": sign(body) },
    });
    expect(response.status).toBe(200);
    const text = await response.text();
    expect(response.headers.get("x-leasehold-signature")).toBe(sign(text));
    return JSON.parse(text) as Reply;
  }
}

async function strangerAndStore(): Promise<{ stranger: Stranger; store: VotingLeaseStore; servers: Servers }> {
  const servers = await Servers.of(NAMES);
  const stranger = await Stranger.beside(servers);
  return { stranger, servers, store: await servers.open("a") };
}

test("a packet is accepted once, also after others have overtaken it", async () => {
  const { stranger, store } = await strangerAndStore();
  const [first, second] = [stranger.packet([TELL]), stranger.packet([TELL])];
  expect(await stranger.post(second)).toMatchObject({ contents: [{ kind: "TELL" }] });
  expect(await stranger.post(first)).toMatchObject({ contents: [{ kind: "TELL" }], id: first.id, toStart: "b1" });
  expect(await stranger.post(first)).toMatchObject({ refused: "replay", contents: [] });
  expect(await stranger.post(stranger.packet([TELL], { id: 5_000 }))).toMatchObject({ contents: [{ kind: "TELL" }] });
  // The id is too old to tell whether the packet has arrived before.
  expect(await stranger.post(stranger.packet([TELL]))).toMatchObject({ refused: "replay" });
  expect(store.dropped).toEqual({ replay: 2 });
});

test("of 257 connections the oldest is closed, unless another server has sent a packet on it that nobody can send again", async () => {
  const { stranger, servers } = await strangerAndStore();
  const { port, hostname } = new URL(servers.addresses["a"] ?? "");
  const connected = async (): Promise<Socket> => {
    const socket = connect(Number(port), hostname).on("error", () => undefined);
    await once(socket, "connect");
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  const withPacket = async (packet: Packet<Request>): Promise<Socket> => {
    const [socket, body] = [await connected(), JSON.stringify(packet)];
    const head = `Content-Length: ${body.length}\r\nx-leasehold-signature: ${sign(body)}`;
    socket.write(`POST /leasehold/voting HTTP/1.1\r\nHost: a\r\n${head}\r\n\r\n${body}`);
    await once(socket, "data");
    return socket;
  };
  const genuine = stranger.packet([TELL]);
  const ofObserver = stranger.packet([{ kind: "READ", election: "e" }], { cluster: "", from: "", to: "", servers: [] });
  const sockets: Socket[] = [];
  for (const packet of [genuine, genuine, stranger.packet([]), ofObserver]) sockets.push(await withPacket(packet));
  const others = await Promise.all(Array.from({ length: 256 }, connected));

  await expect.poll(() => sockets.map(({ destroyed }) => destroyed), eventually).toEqual([false, true, true, true]);
  expect(others.filter(({ destroyed }) => destroyed)).toEqual([]);
});

test("only the start at the address is heard, and neither an earlier start nor a second process", async () => {
  const { stranger, store } = await strangerAndStore();
  const captured = stranger.packet([TELL]);
  expect(await stranger.post(captured)).toMatchObject({ contents: [{ kind: "TELL" }] });
  stranger.start = "b2";
  expect(await stranger.post(stranger.packet([TELL]))).toMatchObject({ contents: [{ kind: "TELL" }], toStart: "b2" });
  expect(await stranger.post(captured)).toMatchObject({ refused: "start" });
  expect(await stranger.post(stranger.packet([TELL], { start: "b3" }))).toMatchObject({ refused: "start" });

  // If no server answers at the address, no new start is heard.
  await stranger.leave();
  expect(await stranger.post(stranger.packet([TELL], { start: "b3" }))).toMatchObject({ refused: "start" });
  expect(await stranger.post(stranger.packet([TELL]))).toMatchObject({ contents: [{ kind: "TELL" }] });
  expect(store.dropped).toEqual({ start: 3 });
});

test("ELECT and LEAD for an earlier start, or for none, only learn the present start", async () => {
  const { stranger, store, servers } = await strangerAndStore();
  const { start } = await stranger.post(stranger.packet([TELL]));
  const captured: Request[] = [elect(7, "t"), lead(7, 1)];
  await store.close();
  await servers.open("a");
  for (const toStart of [start, undefined]) {
    const reply = await stranger.post(stranger.packet(captured, { toStart }));
    expect(reply.contents).toEqual([{ kind: "SILENT" }, { kind: "SILENT" }]);
    expect(reply.start).not.toBe(start);
  }
});

test("a packet for another server, of another list, or from a server outside the list is refused", async () => {
  const { stranger, store } = await strangerAndStore();
  expect(await stranger.post(stranger.packet([TELL], { to: "b" }))).toMatchObject({ refused: "misdirected", from: "a" });
  expect(await stranger.post(stranger.packet([TELL], { from: "c" }))).toMatchObject({ refused: "misdirected" });
  expect(await stranger.post(stranger.packet([TELL], { from: "a" }))).toMatchObject({ refused: "misdirected" });
  const servers = ["a", "b", "c"];
  const other = stranger.packet([TELL], { servers, cluster: clusterOf(servers) });
  expect(await stranger.post(other)).toMatchObject({ refused: "lists", servers: NAMES });
  expect(store.dropped).toEqual({ misdirected: 3, lists: 1 });
});

/** Virtual time stands still. So only warnings that are given at once appear, and none that has to last. */
async function besides(says: Partial<Reply>): Promise<{ stranger: Stranger; store: VotingLeaseStore; heard: readonly string[] }> {
  const heard = warnings();
  const servers = await Servers.of(NAMES);
  const stranger = await Stranger.beside(servers);
  stranger.says = says;
  const store = await servers.open("a", { clock: new VirtualClock() });
  return { stranger, store, heard };
}

function listsOf(...servers: readonly string[]): Partial<Reply> {
  return { refused: "lists", servers, cluster: clusterOf(servers) };
}

test("a server stops if all others have a list two servers away, but not if it has met one or is one away", async () => {
  const stopped = await besides(listsOf("b", "c"));
  await vi.waitFor(() => expect(stopped.store.read("e")).rejects.toMatchObject({ code: "CONFIGURATION" }), eventually);

  const near = await besides(listsOf("a", "b", "c"));
  await vi.waitFor(
    () => expect(near.heard.join("\n")).toContain("lacks c, compared with that of b: give all servers"),
    eventually,
  );
  await expect(near.store.read("e")).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });

  const met = await besides({});
  await expect(met.store.read("e")).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  met.stranger.says = listsOf("b", "c");
  await expect(met.store.read("e")).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  const words = "has a and lacks c, compared with that of b: give all servers";
  await vi.waitFor(() => expect(met.heard.join("\n")).toContain(words), eventually);
});

test("an answer to another request, or of another server, does not count", async () => {
  const { stranger } = await besides({});
  const others: readonly Partial<Reply>[] = [
    { id: 999_999 },
    { to: "b" },
    { toStart: "another" },
    { from: "c" },
    { cluster: "another" },
  ];
  for (const [nth, says] of others.entries()) {
    // The server a does not know this start yet, so it asks at the address.
    const start = `unknown ${nth}`;
    stranger.start = start;
    stranger.says = says;
    expect(await stranger.post(stranger.packet([TELL], { start }))).toMatchObject({ refused: "start" });
  }
  stranger.says = {};
  expect(await stranger.post(stranger.packet([TELL]))).toMatchObject({ contents: [{ kind: "TELL" }] });
});

test("a server at another server's address is named at once", async () => {
  const { heard } = await besides({ from: "c" });
  await vi.waitFor(() => expect(heard.join("\n")).toContain("is 'c' rather than 'b': correct the addresses."), eventually);
});

test("a message of an unknown kind is dropped, and the messages beside it are answered", async () => {
  const { stranger, store } = await strangerAndStore();
  const news = { kind: "NEWS", of: "a later version" } as unknown as Request;
  expect(await stranger.post(stranger.packet([TELL, news, TELL]))).toMatchObject({
    contents: [{ kind: "TELL" }, null, { kind: "TELL" }],
  });
  expect(store.dropped).toEqual({ malformed: 1 });
});

test("an observer's order is for one start of one server and is accepted once; its reads may be repeated", async () => {
  const { stranger, store } = await strangerAndStore();
  const { start } = await stranger.post(stranger.packet([TELL]));
  const of = { cluster: "", from: "", start: "an observer", servers: [] };
  const order = {
    ...{ kind: "BREAK", election: "e", term: 1 },
    ...{ id: "i", reason: "r", immediate: true },
  } as Request;
  const read = stranger.packet([{ kind: "READ", election: "e" }], { ...of, to: "" });
  for (let count = 0; count < 2; count += 1) expect(await stranger.post(read)).not.toHaveProperty("refused");
  const packet = stranger.packet([order], { ...of, toStart: start });
  expect(await stranger.post(packet)).not.toHaveProperty("refused");
  expect(await stranger.post(packet)).toMatchObject({ refused: "replay" });
  expect(await stranger.post(stranger.packet([order], { ...of, toStart: "an earlier start" }))).toMatchObject({
    refused: "start",
  });
  expect(await stranger.post(stranger.packet([order], { ...of, toStart: start, to: "" }))).toMatchObject({
    refused: "misdirected",
  });
  expect(store.dropped).toEqual({ replay: 1, start: 1, misdirected: 1 });
});

test("an answer has the highest write counter that its server remembers of the asker", async () => {
  const { stranger } = await strangerAndStore();
  expect(await stranger.post(stranger.packet([TELL, TELL], { writes: 5 }))).toMatchObject({ seen: 5 });
});

test("a server has met each server with its list that it answers, though it has sent nothing itself", async () => {
  const servers = await Servers.of(NAMES);
  const stranger = await Stranger.beside(servers);
  const urls = Object.fromEntries(Object.entries(servers.addresses).map(([name, address]) => [name, new URL(address)]));
  const { hostname: host, port } = urls["a"] as URL;
  const met: string[] = [];
  const metBefore: string[][] = [];
  const transport = new HttpTransport({
    ...{ server: "a", servers: urls, secret: SECRET, listen: { host, port: Number(port), tls: undefined }, ca: undefined },
    ...{ clock: systemClock, troubles: new WarningLog(systemClock, "a"), onMet: (name) => void met.push(name) },
  });
  onTestFinished(() => transport.close());
  await transport.listen((message) => {
    metBefore.push([...met]);
    return Promise.resolve({ ...message, from: "a", to: "b", content: { kind: "SILENT" } });
  }, "a1");

  // A server that answers with another list is not met, and gets no answer.
  stranger.says = listsOf("a", "b", "c");
  expect(await stranger.post(stranger.packet([TELL]))).toMatchObject({ refused: "start" });
  expect(met).toEqual([]);
  stranger.says = {};
  expect(await stranger.post(stranger.packet([TELL]))).toMatchObject({ contents: [{ kind: "SILENT" }] });
  expect(metBefore).toEqual([["b"]]);
});

/** Listens at the address of `a`, and never answers. */
async function silentAt(servers: Servers): Promise<HttpServer> {
  const { hostname, port } = new URL(servers.addresses["a"] ?? "");
  const silent = createServer(() => {}).listen(Number(port), hostname);
  await once(silent, "listening");
  onTestFinished(() => silent.closeAllConnections());
  onTestFinished(() => void silent.close());
  return silent;
}

test("a server without others waits ten seconds for the process at its own address, and then does not start", async () => {
  const servers = await Servers.of(["a"]);
  const silent = await silentAt(servers);
  const clock = new VirtualClock();
  let failure: unknown;
  const opened = servers.open("a", { host: "127.0.0.2", clock }).catch((error: unknown) => (failure = error));
  await Promise.race([once(silent, "request"), opened]);
  await clock.advance(9_999);
  expect(failure).toBeUndefined();
  await clock.advance(1);
  await opened;
  expect(failure).toMatchObject({ code: "CONFIGURATION" });
});

test("the process at the own address has a second to say which start it is; then this server goes on", async () => {
  const heard = warnings();
  const servers = await Servers.of(NAMES);
  const silent = await silentAt(servers);
  const clock = new VirtualClock();
  let isOpen = false;
  const opened = servers.open("a", { host: "127.0.0.2", clock }).then(() => (isOpen = true));
  // It asks once it listens.
  await Promise.race([once(silent, "request"), opened]);
  await clock.advance(999);
  expect(isOpen).toBe(false);
  await clock.advance(1);
  await opened;
  await vi.waitFor(
    () => expect(heard.join("\n")).toMatch(/does not lead to this process: a at .* does not answer in time/),
    eventually,
  );
});

test("a server that another one does not hear warns at once", async () => {
  const { heard } = await besides({ refused: "start" });
  await vi.waitFor(() => expect(heard.join("\n")).toContain("b does not hear this process"), eventually);
});

test.each([["with others", ["a", "b", "c"]] as const, ["alone", ["a"]] as const])(
  "of two servers with one name, %s, the later one does not start",
  async (_, names) => {
    const servers = await Servers.of(names);
    const [store] = await servers.openAll();
    const later = servers.open("a", { host: "127.0.0.2", stateDirectory: servers.directory("second") });
    await expect(later).rejects.toThrow("leads to another process that serves as 'a': stop that one, or give each its own name");
    await elected(store as VotingLeaseStore);
  },
);

test("of two servers with one name, the one that is not at the address is not heard, and warns", async () => {
  const heard = warnings();
  const servers = await Servers.of(["a", "b", "c"]);
  const astray = await servers.open("a", { host: "127.0.0.2", stateDirectory: servers.directory("second") });
  const words = /Voting server a: The address of 'a', .*, does not lead to this process: no server listens/;
  await vi.waitFor(() => expect(heard.join("\n")).toMatch(words), eventually);
  const stores = await servers.openAll();
  const lease = await elected(stores[0] as VotingLeaseStore);
  await vi.waitFor(
    () => expect(heard.join("\n")).toContain("b does not hear this process, since it does not find it"),
    eventually,
  );
  await expect(astray.acquire({ ...REQUEST, timeoutMs: 500 })).rejects.toThrow("No majority");
  expect(await stores[0]?.renew(lease, REQUEST)).toMatchObject({ held: true });
});

test("a server without others that is not at its own address does not start", async () => {
  const servers = await Servers.of(["a"]);
  await expect(servers.open("a", { host: "127.0.0.2" })).rejects.toThrow(
    "does not lead to this process: no server listens for a",
  );
});
