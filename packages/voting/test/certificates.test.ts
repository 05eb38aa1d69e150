/** Certificates that are read again while a server or an observer runs. */
import { readFile } from "node:fs/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock, type Clock } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { makeCertificates, opensslMissing } from "@leasehold/test-kit/backends/certificates";
import { memoryFolder } from "@leasehold/test-kit/backends/memory-folder";
import { VotingObserver } from "@leasehold/voting";
import { readAgain } from "../src/certificates.ts";
import type { VotingTls } from "../src/options.ts";
import { eventually, SECRET, Servers } from "./servers.ts";

test.skipIf(await isMissing(opensslMissing()))("a server shows its new certificate to new connections", async () => {
  const [first, second] = await Promise.all(["first", "second"].map(() => certificatesOfServer()));
  let present = first;
  const servers = await Servers.of(["a"], "https");
  const late = lateClock();
  await servers.open("a", { tls: () => present as VotingTls, clock: late.clock });
  const read = async (tls: VotingTls | undefined): Promise<unknown> => {
    const observer = new VotingObserver({ servers: Object.values(servers.addresses), secret: SECRET, ca: tls?.ca });
    onTestFinished(() => observer.close());
    return await observer.read("e");
  };
  await vi.waitFor(() => read(first), eventually);
  present = second;
  await read(first);
  late.byMs = 60_000;
  // A request makes the server read them; it may still be answered by the last ones.
  await read(first);
  await vi.waitFor(() => read(second), eventually);
});

test("a client waits for its first authority only; it reads it once a minute, and the last one stays if that fails", async () => {
  const clock = new VirtualClock();
  const { signal } = new AbortController();
  const used: unknown[] = [];
  const told: string[] = [];
  const failing = (): Promise<string> => Promise.reject(new Error("ENOENT: no such file"));
  let read = failing;
  const trust = readAgain<string>({
    clock,
    read: () => read(),
    use: (ca) => void used.push(ca),
    failed: (reason) => void told.push(reason),
    hasFirst: false,
  });
  await expect(trust(signal)).rejects.toThrow("ENOENT");
  read = () => Promise.resolve("first");
  await Promise.all([trust(signal), trust(signal)]);
  await clock.advance(59_999);
  await trust(signal);
  expect(used).toEqual(["first"]);
  await clock.advance(1);
  const second = Promise.withResolvers<string>();
  read = () => second.promise;
  await trust(signal);
  await clock.advance(60_000);
  await trust(signal);
  second.resolve("second");
  await clock.advance(60_000);
  expect(used).toEqual(["first", "second"]);
  read = failing;
  await trust(signal);
  await clock.settle();
  await trust(signal);
  expect(used).toEqual(["first", "second"]);
  expect(told).toEqual(["ENOENT: no such file"]);
});

test("a value that is in use already is read again a minute later", async () => {
  const clock = new VirtualClock();
  const used: number[] = [];
  const again = readAgain<number>({ clock, read: () => 1, use: (one) => used.push(one), failed: () => {}, hasFirst: true });
  await clock.advance(59_999);
  await again();
  expect(used).toEqual([]);
  await clock.advance(1);
  await again();
  await clock.settle();
  expect(used).toEqual([1]);
});

test("a client waits for its first authority no longer than its signal lets it", async () => {
  const limit = new AbortController();
  const never = (): Promise<never> => new Promise(() => {});
  const trust = readAgain({ clock: new VirtualClock(), read: never, use: () => {}, failed: () => {}, hasFirst: false });
  const waiting = trust(limit.signal);
  limit.abort();
  await expect(waiting).rejects.toThrow("the authority of the servers was not read in time.");
});

test.skipIf(await isMissing(opensslMissing()))("an observer trusts a new authority within a minute", async () => {
  const [first, second] = await Promise.all(["first", "second"].map(() => certificatesOfServer()));
  const servers = await Servers.of(["a"], "https");
  await servers.open("a", { tls: second });
  let ca = first?.ca;
  const late = lateClock();
  const options = { servers: Object.values(servers.addresses), secret: SECRET, ca: () => ca, clock: late.clock };
  const observer = new VotingObserver(options);
  onTestFinished(() => observer.close());
  await expect(observer.read("e")).rejects.toThrow("is not trusted");
  ca = second?.ca;
  await expect(observer.read("e")).rejects.toThrow("is not trusted");
  late.byMs = 60_000;
  await vi.waitFor(() => observer.read("e"), eventually);
});

async function certificatesOfServer(): Promise<VotingTls> {
  const { server, ca } = await makeCertificates(await memoryFolder("leasehold-voting-tls-"));
  const [key = "", cert = "", authority] = await Promise.all([server.key, server.cert, ca].map((path) => readFile(path, "utf8")));
  return { key, cert, ca: authority };
}

/** The system's clock, which a test can move on. */
function lateClock(): { byMs: number; readonly clock: Clock } {
  const late = { byMs: 0, clock: { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + late.byMs } };
  return late;
}
