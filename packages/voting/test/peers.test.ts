/** The state of the other servers, as one of them knows it. */
import { expect, test } from "vitest";
import { VirtualClock } from "@leasehold/core/testing";
import { Peers } from "../src/peers.ts";

const PONG = { kind: "PING", takesPart: true, syncMs: 1, absent: [] } as const;

test("a server is absent while it does not answer or takes no part, since this was first observed", async () => {
  const clock = new VirtualClock();
  const peers = new Peers(clock);
  peers.heard("b", PONG);
  expect(peers.absent).toEqual([]);
  peers.heard("b", undefined);
  await clock.advance(5_000);
  peers.heard("b", undefined);
  expect(peers.absent).toEqual([{ name: "b", why: "it does not answer.", forMs: 5_000 }]);
  peers.heard("b", { ...PONG, takesPart: false });
  await clock.advance(1_000);
  peers.heard("b", { kind: "SILENT" });
  expect(peers.absent).toEqual([{ name: "b", why: "it takes no part.", forMs: 1_000 }]);
  peers.heard("b", { ...PONG, takesPart: false, why: "its disk does not end a write." });
  expect(peers.absent).toEqual([{ name: "b", why: "its disk does not end a write.", forMs: 0 }]);
  await clock.advance(1_000);
  peers.heard("b", { kind: "TELL", forgot: false, isFresh: false, floor: 0, clockFloor: 0, terms: {}, longestLeaseMs: 0 });
  expect(peers.absent).toMatchObject([{ name: "b", forMs: 1_000 }]);
  peers.heard("b", { kind: "READ", absent: [] });
  expect(peers.absent).toEqual([]);
});

test("another server may report a longer absence, but not of a server that has answered here", () => {
  const peers = new Peers(new VirtualClock());
  peers.heard("b", undefined);
  peers.heard("c", PONG);
  const told = (name: string, forMs: number) => ({ name, why: "it does not answer.", forMs });
  peers.told([told("b", 60_000), told("c", 60_000), told("d", 1_000)]);
  peers.told([told("b", 30_000)]);
  expect(peers.absent).toEqual([told("b", 60_000), told("d", 1_000)]);
});
