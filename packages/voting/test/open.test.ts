/** Servers over HTTP, as users open them, and mistakes of their setup. */
import { readFile, writeFile } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { makeCertificates, opensslMissing } from "@leasehold/test-kit/backends/certificates";
import { memoryFolder } from "@leasehold/test-kit/backends/memory-folder";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { DROPPED_CHANNEL, type DroppedPacket, type VotingLeaseStore } from "@leasehold/voting";
import { lockDirectory } from "../src/directory-lock.ts";
import { StateFile } from "../src/state-file.ts";
import { Seal } from "../src/packet.ts";
import { elected, eventually, REQUEST, SECRET, Servers, warnings } from "./servers.ts";

test("three servers elect one of themselves, and after a restart of all again, with a higher term", async () => {
  const servers = await Servers.of(["a", "b", "c"]);
  const stores = await servers.openAll();
  const request = { ...REQUEST, leaseDurationMs: 2_000 };
  const lease = await elected(stores[1] as VotingLeaseStore, request);
  for (const store of stores) {
    expect(await store.read("e")).toMatchObject({ state: "held", term: lease.term, holder: "c" });
  }
  expect(await stores[1]?.release(lease, REQUEST)).toBe("released");
  await Promise.all(stores.map((store) => store.close()));

  const again = await servers.openAll();
  const next = await elected(again[2] as VotingLeaseStore, request);
  expect(next.term).toBe(lease.term + 1);
});

test("a server opens alone, and its calls fail until a majority takes part", async () => {
  const servers = await Servers.of(["a", "b", "c"]);
  const first = await servers.open("a");
  await expect(first.read("e")).rejects.toMatchObject({
    code: "STORE_UNAVAILABLE",
    message: expect.stringContaining("a does not take part yet"),
  });
  await Promise.all([servers.open("b"), servers.open("c")]);
  expect(await vi.waitFor(() => first.read("e"), eventually)).toBeUndefined();
});

test("one server alone, and two, elect as well", async () => {
  for (const names of [["a"], ["a", "b"]]) {
    const stores = await (await Servers.of(names)).openAll();
    const lease = await elected(stores[0] as VotingLeaseStore);
    expect(await stores[0]?.renew(lease, REQUEST)).toMatchObject({ held: true });
  }
});

test("an even number of servers is warned about, because it survives no more losses than one less", async () => {
  const heard = warnings();
  const servers = await Servers.of(["a", "b"]);
  await servers.openAll();
  await vi.waitFor(
    () => expect(heard.join("\n")).toContain("its list has 2 servers, which survive no more losses than 1"),
    eventually,
  );
});

test("a port or a directory in use is refused at once, and nothing is left open", async () => {
  const servers = await Servers.of(["a"]);
  const { port } = new URL(servers.addresses["a"] ?? "");
  const blocker = createServer().listen(Number(port), "127.0.0.1");
  await once(blocker, "listening");
  await expect(servers.open("a")).rejects.toThrow(`another process listens on 127.0.0.1:${port}`);
  blocker.close();
  await once(blocker, "close");

  const store = await servers.open("a");
  await expect(servers.open("a")).rejects.toThrow("in use by another process");
  await store.close();
  await (await servers.open("a")).close();
});

test("a directory that cannot be used is refused with the code of its file system", async () => {
  const file = join(await memoryFolder("leasehold-voting-"), "file");
  await writeFile(file, "");
  const servers = await Servers.of(["a"]);
  await expect(servers.open("a", { stateDirectory: file })).rejects.toThrow(`stateDirectory ${file} cannot be used (EEXIST):`);
});

test("a closed server unlocks its directory once its last write has ended", async () => {
  const servers = await Servers.of(["a"]);
  const store = await servers.open("a");
  const writing = Promise.withResolvers<void>();
  const close = vi.spyOn(StateFile.prototype, "close").mockReturnValue(writing.promise);
  onTestFinished(() => close.mockRestore());
  const closed = store.close();
  await vi.waitFor(() => expect(close).toHaveBeenCalledOnce(), eventually);
  await new Promise((resolve) => setImmediate(resolve));
  await expect(lockDirectory(servers.directory("a"))).rejects.toThrow("in use by another process");
  writing.resolve();
  await closed;
  (await lockDirectory(servers.directory("a")))();
});

test.skipIf(await isMissing(opensslMissing()))("https: works with certificates of a private authority", async () => {
  const certificates = await makeCertificates(await memoryFolder("leasehold-voting-tls-"));
  const [key, cert, ca] = await Promise.all(
    [certificates.server.key, certificates.server.cert, certificates.ca].map((path) => readFile(path, "utf8")),
  );
  const servers = await Servers.of(["a", "b", "c"], "https");
  const stores = await servers.openAll({ tls: { key: key ?? "", cert: cert ?? "", ca } });
  await elected(stores[0] as VotingLeaseStore);

  // A client that does not trust the servers.
  const heard = warnings();
  await stores[2]?.close();
  const stranger = await servers.open("c", { tls: { key: key ?? "", cert: cert ?? "" } });
  await vi.waitFor(() => expect(heard.join("\n")).toMatch(/certificate of a at https:.* is not trusted/), eventually);
  await stranger.close();

  // A client that uses http: by mistake.
  const plain = Object.fromEntries(Object.entries(servers.addresses).map(([name, url]) => [name, url.replace("https", "http")]));
  await servers.open("c", { servers: plain });
  await vi.waitFor(() => expect(heard.join("\n")).toMatch(/a at http:.* Is it a server of https: rather/), eventually);
});

interface Sent {
  readonly status: number;
  readonly text: string;
}

/** Sends a packet as another server might. */
async function post(servers: Servers, to: string, body: string, signature?: string): Promise<Sent> {
  const response = await fetch(`${servers.addresses[to]}/leasehold/voting`, {
    method: "POST",
    body,
    headers: { "x-leasehold-signature": signature ?? new Seal(SECRET).sign(body) },
  });
  return { status: response.status, text: await response.text() };
}

/** Sends all of a packet except its end. */
async function slowly(servers: Servers, to: string, bytes: number): Promise<Socket> {
  const { port, hostname } = new URL(servers.addresses[to] ?? "");
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.write(`POST /leasehold/voting HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes + 1}\r\n\r\n`);
  socket.write(Buffer.alloc(bytes));
  return socket;
}

test("a packet that is forged, malformed, oversized or for another path is dropped, counted and published", async () => {
  const servers = await Servers.of(["a"]);
  const store = await servers.open("a");
  const published: DroppedPacket[] = [];
  const hear = (message: unknown): void => void published.push(message as DroppedPacket);
  subscribe(DROPPED_CHANNEL, hear);
  onTestFinished(() => void unsubscribe(DROPPED_CHANNEL, hear));

  expect(await post(servers, "a", "{}", "0".repeat(64))).toEqual({ status: 401, text: "signature" });
  expect(await post(servers, "a", "{}", "short")).toMatchObject({ status: 401 });
  expect(await post(servers, "a", "no JSON")).toEqual({ status: 400, text: "malformed" });
  expect(await post(servers, "a", '{"id":1}')).toMatchObject({ status: 400 });
  expect(await post(servers, "a", "x".repeat(9 * 1024 * 1024)).catch(() => ({ status: 413 }))).toMatchObject({ status: 413 });
  expect((await fetch(`${servers.addresses["a"]}/other`)).status).toBe(404);
  expect(store.dropped).toEqual({ signature: 2, malformed: 2, oversized: 1 });

  // An unsigned body is not read, so it takes no room from signed ones.
  const sockets = await Promise.all(Array.from({ length: 10 }, () => slowly(servers, "a", 7 * 1024 * 1024)));
  await vi.waitFor(() => expect(store.dropped.signature).toBe(12), eventually);
  for (const socket of sockets) socket.destroy();
  expect(published.slice(0, 5).map(({ reason }) => reason)).toEqual([
    "signature",
    "signature",
    "malformed",
    "malformed",
    "oversized",
  ]);
  expect(published.every(({ server }) => server === "a")).toBe(true);
});

test("a server closes although a request has not arrived as a whole", async () => {
  const servers = await Servers.of(["a"]);
  const store = await servers.open("a");
  const { port, hostname } = new URL(servers.addresses["a"] ?? "");
  const socket = connect(Number(port), hostname).on("error", () => undefined);
  await once(socket, "connect");
  socket.write("POST /leasehold/voting HTTP/1.1\r\n");
  // The server has the connection once it answers on a later one.
  expect((await fetch(`${servers.addresses["a"]}/other`)).status).toBe(404);
  await Promise.all([once(socket, "close"), store.close()]);
});

test("secrets that differ are reported on both sides, and neither is shown", async () => {
  const heard = warnings();
  const servers = await Servers.of(["a", "b"]);
  const a = await servers.open("a");
  await servers.open("b", { secret: "another secret of servers" });
  await vi.waitFor(() => expect(heard.some((line) => line.includes("b signs with another secret"))).toBe(true), eventually);
  await vi.waitFor(() => expect(heard.some((line) => /Voting server b: .* another secret/.test(line))).toBe(true), eventually);
  expect(heard.join("\n")).not.toContain("secret of servers");
  await expect(a.acquire(REQUEST)).rejects.toThrow(/b signs with another secret than this server: give all of them the same\./);
});

test("the warning names servers that are not started, and their addresses", async () => {
  const heard = warnings();
  const servers = await Servers.of(["a", "b", "c"]);
  const a = await servers.open("a");
  await expect(a.acquire(REQUEST)).rejects.toThrow(`no server listens for b at ${servers.addresses["b"]}`);
  await vi.waitFor(() => expect(heard.some((line) => line.includes("no server listens for c at"))).toBe(true), eventually);
  expect(heard.filter((line) => line.includes("no server listens for c at"))).toHaveLength(1);
});

test("a server whose list differs by more from another server's stops, and says why", async () => {
  const heard = warnings();
  const servers = await Servers.of(["a", "b", "c", "d"]);
  const { a = "", b = "", c = "", d = "" } = servers.addresses;
  const list = { servers: { a, b, c } };
  const stores = await Promise.all(["a", "b", "c"].map((name) => servers.open(name, list)));
  await elected(stores[0] as VotingLeaseStore);
  const stranger = await servers.open("d", { servers: { b, c, d } });
  await vi.waitFor(async () => {
    const error = await stranger.acquire(REQUEST).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "CONFIGURATION" });
    expect((error as Error).message).toMatch(/the list of servers here has d and lacks a.*this server has stopped/);
  }, eventually);
  expect(await stores[0]?.read("e")).toMatchObject({ state: "held" });
  expect(heard.join("\n")).toContain("the list of servers of d has d and lacks a");
});

test("of two servers with the old list and two with the new one, only those that are a majority of theirs elect", async () => {
  const servers = await Servers.of(["a", "b", "c", "d"]);
  const { a = "", b = "", c = "", d = "" } = servers.addresses;
  const old = { servers: { a, b, c } };
  const [first, second, third] = await Promise.all(["a", "b", "c"].map((name) => servers.open(name, old)));
  const lease = await elected(first as VotingLeaseStore);
  await second?.close();
  await expect(servers.open("b", { servers: { b, c, d } })).rejects.toThrow("the list has d and lacks a now");
  const astray = await Promise.all(["b", "d"].map((name) => servers.open(name)));
  await vi.waitFor(async () => {
    // Its own vote and one more are half of four.
    for (const store of astray) {
      await expect(store.acquire({ ...REQUEST, election: "new", timeoutMs: 500 })).rejects.toThrow("No majority");
    }
    expect(Object.keys(third?.dropped ?? {})).toContain("lists");
  }, eventually);
  expect(await first?.renew(lease, REQUEST)).toMatchObject({ held: true });
  await elected(third as VotingLeaseStore, { ...REQUEST, election: "other" });
});

test("a server with a list two servers away is refused at its start", async () => {
  const servers = await Servers.of(["a", "b", "c"]);
  const { a = "", b = "", c = "" } = servers.addresses;
  const store = await servers.open("a", { servers: { a } });
  await store.close();
  await expect(servers.open("a")).rejects.toThrow(
    "worked with a before; the list has b, c now. Add or remove one server at a time",
  );
  const two = await Promise.all(["a", "b"].map((name) => servers.open(name, { servers: { a, b } })));
  await elected(two[0] as VotingLeaseStore);
  await Promise.all(two.map((each) => each.close()));
  const three = await Promise.all(["a", "b", "c"].map((name) => servers.open(name, { servers: { a, b, c } })));
  // The new server waits for the longest lease of the others, because it may have taken part in it.
  await elected(three[0] as VotingLeaseStore, { ...REQUEST, election: "f" });
});
