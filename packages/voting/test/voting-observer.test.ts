/** The view and the rights of a process that is not a server. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as consumers from "node:stream/consumers";
import { expect, onTestFinished, test, vi } from "vitest";
import { Elector, StoreError, UnsupportedError } from "@leasehold/core";
import { sleep, systemClock } from "@leasehold/core/provider";
import { VotingObserver, type VotingLeaseStore } from "@leasehold/voting";
import { CAPABILITIES } from "../src/capabilities.ts";
import type { Request } from "../src/messages.ts";
import type { Packet, Reply } from "../src/packet.ts";
import { Seal } from "../src/packet.ts";
import { elected, eventually, REQUEST, SECRET, Servers } from "./servers.ts";

const LIMITS = { timeoutMs: 5_000 };

async function observed(): Promise<{ servers: Servers; stores: VotingLeaseStore[]; observer: VotingObserver }> {
  const servers = await Servers.of(["a", "b", "c"]);
  const stores = await servers.openAll();
  return { servers, stores, observer: observerOf(Object.values(servers.addresses)) };
}

function observerOf(addresses: readonly string[], secret = SECRET): VotingObserver {
  const observer = new VotingObserver({ servers: addresses, secret });
  onTestFinished(() => observer.close());
  return observer;
}

test("an observer reads the leader and lists the elections while a majority answers, and rejects without one", async () => {
  const { stores, observer } = await observed();
  expect(await observer.read("e", LIMITS).catch(() => undefined)).toBeUndefined();
  const { term } = await elected(stores[0]!, { ...REQUEST, value: "http://10.0.0.1" });
  await elected(stores[1]!, { ...REQUEST, election: "other" });
  const leader = { state: "held", term, holder: "c", value: "http://10.0.0.1" };
  expect(await observer.read("e", LIMITS)).toMatchObject(leader);
  await stores[2]!.close();
  expect(await observer.read("e", LIMITS)).toMatchObject(leader);
  const listed = await Array.fromAsync(observer.list("", LIMITS));
  expect(listed.map(({ election }) => election).toSorted()).toEqual(["e", "other"]);
  expect(await Array.fromAsync(observer.list("e", LIMITS))).toMatchObject([{ election: "e", state: "held", term }]);
  await stores[1]!.close();
  await expect(observer.read("e", LIMITS)).rejects.toThrow(StoreError);
  await expect(Array.fromAsync(observer.list("e", LIMITS))).rejects.toThrow(/^No majority of the servers has answered TELL/);
});

test("an observer has the capabilities of a server, except that it has to poll", () => {
  expect(observerOf(["http://127.0.0.1:7400"]).capabilities).toEqual({ ...CAPABILITIES, watch: "poll" });
  expect(CAPABILITIES).toMatchObject({ watch: "push", minLeaseMs: 100, maxLeaseMs: 3_600_000, leaseGranularityMs: 1 });
  expect(CAPABILITIES.maxValueBytes).toBe(4_096);
});

test("a leader that only one server has heard is unknown to an observer", async () => {
  const { servers, stores, observer } = await observed();
  const { term } = await elected(stores[0]!, { ...REQUEST, leaseDurationMs: 1_000 });
  await Promise.all(stores.slice(1).map((store) => store.close()));
  // The server has its votes on its disk, but its knowledge of leaders only in memory.
  await servers.open("b");
  const read = (): Promise<unknown> => observer.read("e", LIMITS).catch(() => undefined);
  await expect.poll(read).toEqual({ election: "e", state: "unknown", term });
});

/** Starts a server that gives no answer to what it is asked, and signs that. Returns its address. */
async function silentServer(changed: Partial<Reply> = {}, onPacket = (): void => {}): Promise<string> {
  const sign = (body: string): string => new Seal(SECRET).sign(body);
  const server = createServer((request, response) => {
    void consumers.json(request).then((packet) => {
      onPacket();
      const { from, start, id } = packet as Packet<Request>;
      const header = { cluster: "any", from: "a", to: from, start: "a1", toStart: start, writes: 0, seen: 0 };
      const body = JSON.stringify({ ...header, id, servers: ["a"], isReply: true, contents: [null], ...changed });
      response.setHeader("x-leasehold-signature", sign(body)).end(body);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("a server without an answer takes no part", async () => {
  const observer = observerOf([await silentServer()]);
  await expect(observer.read("e", LIMITS)).rejects.toThrow(/does not take part yet/);
});

test("an answer to something else is reported with the address from which it came", async () => {
  const address = await silentServer({ id: 99 });
  await expect(observerOf([address]).read("e", LIMITS)).rejects.toThrow(
    `The answer from the server at ${address} is none to what was asked.`,
  );
});

test("an observer whose authority is never read again goes on with the last one", async () => {
  let lateMs = 0;
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + lateMs };
  let reads = 0;
  const ca = (): string | Promise<string> => ((reads += 1) === 1 ? "any" : new Promise(() => {}));
  const observer = new VotingObserver({ servers: [await silentServer()], secret: SECRET, ca, clock });
  onTestFinished(() => observer.close());
  for (const each of [0, 60_000, 120_000]) {
    lateMs = each;
    await expect(observer.read("e", LIMITS)).rejects.toThrow("does not take part yet");
  }
  expect(reads).toBe(2);
});

test("an observer sends nothing after the limit of a call, even if its authority is only read then", async () => {
  let packets = 0;
  const address = await silentServer({}, () => (packets += 1));
  const ca = Promise.withResolvers<string>();
  const observer = new VotingObserver({ servers: [address], secret: SECRET, ca: () => ca.promise });
  onTestFinished(() => observer.close());
  await expect(observer.read("e", { timeoutMs: 10 })).rejects.toThrow(StoreError);
  // The request has a timer of its own, set after that of the call. Timers of one duration fire in order.
  await sleep(systemClock, 10);
  ca.resolve("any");
  await expect(observer.read("e", LIMITS)).rejects.toThrow("does not take part yet");
  expect(packets).toBe(1);
});

test("an observer breaks and transfers terms: their leader is told, and only the named candidate is elected", async () => {
  const { stores, observer } = await observed();
  const broken = await elected(stores[0]!);
  expect(await observer.break("e", { reason: "why not", ifTerm: broken.term })).toEqual({ broken: true, term: broken.term });
  expect(await stores[0]!.renew(broken, LIMITS)).toMatchObject({ held: false, reason: "broken", explanation: "why not" });
  expect(await observer.read("e", LIMITS)).toMatchObject({ state: "ending", endingReason: "why not" });

  const other = { ...REQUEST, election: "other" };
  const lease = await elected(stores[0]!, other);
  const outcome = observer.transfer("other", "named", { ifTerm: lease.term, transferTimeoutMs: 60_000 });
  const told = async (): Promise<void> =>
    expect(await stores[0]!.renew(lease, LIMITS)).toMatchObject({ held: true, transferTo: "named" });
  await vi.waitFor(told, eventually);
  expect(await stores[0]!.release(lease, LIMITS)).toBe("released");
  const bar = { kind: "transfer", candidateId: "named" };
  expect(await observer.read("other", LIMITS)).toMatchObject({ state: "vacant", bar });
  expect((await stores[1]!.acquire(other)).acquired).toBe(false);
  await elected(stores[2]!, { ...other, candidateId: "named" });
  expect(await outcome).toBe("accepted");
});

test("another secret, missing addresses and duplicate ones are reported in words; an observer cannot lead", async () => {
  const { servers, observer } = await observed();
  const [a, b] = Object.values(servers.addresses) as [string, string];
  await expect(observerOf(Object.values(servers.addresses), "another one, and long").read("e", LIMITS)).rejects.toThrow(
    /signs with another secret/,
  );
  await expect(observerOf([a, b]).read("e", LIMITS)).rejects.toThrow("2 addresses are given, and there are 3 servers: a, b, c.");
  const sameHost = a.replace("127.0.0.1", "localhost");
  await expect(observerOf([a, sameHost, b]).read("e", LIMITS)).rejects.toThrow(/The server 'a' answers at/);
  expect(() => observerOf([a, a])).toThrow("servers has an address twice");
  for (const none of [[], undefined]) {
    expect(() => observerOf(none as never)).toThrow("servers must have the address of every server.");
  }
  expect(() => observerOf(["10.0.0.1:7400"])).toThrow(/is not a URL of http: or https:/);
  // The error may be logged, and an address may hold a password.
  for (const address of ["http://me:hunter2@10.0.0.1:7400", "ftp://me:hunter2@10.0.0.1:7400", "me:hunter2@10.0.0.1"]) {
    expect(() => observerOf([a, address])).toThrow(/^The address of the server number 2 (?!.*hunter2)/);
  }
  expect(() => observerOf([a], "short")).toThrow(/at least 16/);
  const checked = (): Promise<unknown> => expect(observer.check({ election: "e", ...LIMITS })).rejects.toThrow(UnsupportedError);
  await vi.waitFor(checked, eventually);
  const elector = new Elector({ store: observer, election: "e", logger: false });
  await expect(elector.run(() => {})).rejects.toThrow(UnsupportedError);
});
