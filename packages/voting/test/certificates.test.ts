/** Certificates that are read again while a server runs. */
import { connect } from "node:tls";
import { readFile } from "node:fs/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock, type Clock } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { makeCertificates, opensslMissing } from "@leasehold/test-kit/backends/certificates";
import { memoryFolder } from "@leasehold/test-kit/backends/memory-folder";
import { VotingObserver } from "@leasehold/voting";
import { authorityReader, readTlsAgain } from "../src/certificates.ts";
import type { VotingTls } from "../src/options.ts";
import { eventually, SECRET, Servers } from "./servers.ts";

test("certificates are read once a minute; if they cannot be read, a warning says why and the last ones stay", async () => {
  const clock = new VirtualClock();
  const closed = new AbortController();
  const used: VotingTls[] = [];
  const told: string[] = [];
  let read = (): Promise<VotingTls> => Promise.resolve({ key: "k", cert: "1" });
  const troubles = { tell: (message: string) => void told.push(message) };
  const ended = readTlsAgain(
    clock,
    () => read(),
    (tls) => void used.push(tls),
    troubles,
    closed.signal,
  );
  await clock.advance(59_999);
  expect(used).toEqual([]);
  await clock.advance(1);
  expect(used).toEqual([{ key: "k", cert: "1" }]);
  read = () => Promise.reject(new Error("ENOENT: no such file, open '/etc/tls/key.pem'"));
  await clock.advance(60_000);
  expect(used.length).toBe(1);
  expect(told).toEqual([expect.stringContaining("the last ones stay in use: ENOENT: no such file, open '/etc/tls/key.pem'")]);
  read = () => Promise.resolve({ key: "k", cert: "2" });
  await clock.advance(60_000);
  expect(used.at(-1)).toEqual({ key: "k", cert: "2" });
  closed.abort();
  await ended;
});

test.skipIf(await isMissing(opensslMissing()))("a server shows its new certificate to new connections", async () => {
  const [first, second] = await Promise.all(["first", "second"].map(() => certificatesOfServer()));
  let present = first;
  const servers = await Servers.of(["a"], "https");
  const minute = Promise.withResolvers<() => void>();
  const store = await servers.open("a", {
    tls: () => present as VotingTls,
    clock: withMinute((callback) => minute.resolve(callback)),
  });
  const port = Number(new URL(servers.addresses["a"] ?? "").port);
  expect(await authorityAt(port, first)).toBe(true);
  present = second;
  (await minute.promise)();
  await vi.waitFor(async () => expect(await authorityAt(port, second)).toBe(true), eventually);
  await store.close();
});

test("a client waits for its first authority only; it reads it once a minute, and the last one stays if that fails", async () => {
  const clock = new VirtualClock();
  const { signal } = new AbortController();
  const used: unknown[] = [];
  const told: string[] = [];
  const failing = (): Promise<string> => Promise.reject(new Error("ENOENT: no such file"));
  let read = failing;
  const trust = authorityReader(
    clock,
    () => read(),
    (ca) => void used.push(ca),
    (message) => void told.push(message),
  );
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
  expect(told).toEqual([expect.stringContaining("the last one stays in use: ENOENT: no such file")]);
});

test("a client waits for its first authority no longer than its signal lets it", async () => {
  const limit = new AbortController();
  const trust = authorityReader(
    new VirtualClock(),
    () => new Promise(() => {}),
    () => {},
    () => {},
  );
  const waiting = trust(limit.signal);
  limit.abort();
  await expect(waiting).rejects.toThrow("the authority of the servers was not read in time.");
});

test.skipIf(await isMissing(opensslMissing()))("an observer trusts a new authority within a minute", async () => {
  const [first, second] = await Promise.all(["first", "second"].map(() => certificatesOfServer()));
  const servers = await Servers.of(["a"], "https");
  await servers.open("a", { tls: second });
  let ca = first?.ca;
  let lateMs = 0;
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + lateMs };
  const observer = new VotingObserver({ servers: Object.values(servers.addresses), secret: SECRET, ca: () => ca, clock });
  onTestFinished(() => observer.close());
  await expect(observer.read("e")).rejects.toThrow("is not trusted");
  ca = second?.ca;
  await expect(observer.read("e")).rejects.toThrow("is not trusted");
  lateMs = 60_000;
  await vi.waitFor(() => observer.read("e"), eventually);
});

async function certificatesOfServer(): Promise<VotingTls> {
  const { server, ca } = await makeCertificates(await memoryFolder("leasehold-voting-tls-"));
  const [key = "", cert = "", authority] = await Promise.all([server.key, server.cert, ca].map((path) => readFile(path, "utf8")));
  return { key, cert, ca: authority };
}

/** The system's clock, except that the first timer of a minute is given to the test. */
function withMinute(take: (callback: () => void) => void): Clock {
  return {
    monotonicMs: () => systemClock.monotonicMs(),
    wallMs: () => systemClock.wallMs(),
    random: () => systemClock.random(),
    randomUuid: () => systemClock.randomUuid(),
    setTimer: (callback, delayMs) => {
      if (delayMs !== 60_000) return systemClock.setTimer(callback, delayMs);
      take(callback);
      return { cancel: () => undefined };
    },
  };
}

/** Reports whether the server at a port shows a certificate of this authority. */
async function authorityAt(port: number, tls: VotingTls | undefined): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", ca: tls?.ca }, () => {
      resolve(socket.authorized);
      socket.destroy();
    });
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => resolve(false));
  });
}
