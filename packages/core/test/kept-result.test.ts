import { oncePerOccurrence, type OncePerOccurrenceOptions } from "@leasehold/core";
import { occurrencesOf } from "@leasehold/core/occurrences";
import { VirtualClock, type SimulatedRecordService } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { Host, occurrenceService } from "./host.ts";
import { Lines } from "./lines.ts";

let world: VirtualClock;
let service: SimulatedRecordService;
let a: Host;
let b: Host;
let due: number;

beforeEach(() => {
  world = new VirtualClock();
  service = occurrenceService(world);
  [a, b] = [new Host(world, service), new Host(world, service)];
  due = world.wallMs();
});

function deliver<T>(host: Host, task: () => T, more: Partial<OncePerOccurrenceOptions> = {}) {
  const options = { store: host.store, name: "nightly", scheduledAt: due, logger: false, keepResult: true, ...more } as const;
  return world.runUntil(oncePerOccurrence<T>(options, task));
}

const id = (): string => `nightly@${new Date(due).toISOString()}`;

describe("with keepResult", () => {
  test.for([[{ rows: 7, of: ["é", null, true, { a: undefined }] }], ["text"], [0], [false], [null]])(
    "a later call on another host gets the result %j, at the cost of no more requests",
    async ([result]) => {
      await expect(deliver(a, () => result)).resolves.toEqual({ ran: true, result, attempt: 1 });

      await expect(deliver(b, () => "again")).resolves.toEqual({ ran: false, reason: "done", result });
      expect([a.requests, b.requests]).toEqual([["get", "put", "put"], ["get"]]);
    },
  );

  test("a late call that claims nothing gets the result", async () => {
    await deliver(a, () => "billed");
    await world.advance(60_000);
    await expect(deliver(b, () => "again", { startWithinMs: 1_000 })).resolves.toMatchObject({
      reason: "done",
      result: "billed",
    });
  });

  test("a completion whose reply was lost keeps the result", async () => {
    let puts = 0;
    a.network = ({ operation }) => {
      if (operation === "put") puts += 1;
      return { arrivals: [{ afterMs: 1, ...(operation === "put" && puts === 2 ? {} : { replyAfterMs: 1 }) }] };
    };
    await expect(deliver(a, () => "billed")).resolves.toMatchObject({ ran: true });
    await expect(deliver(b, () => "again")).resolves.toEqual({ ran: false, reason: "done", result: "billed" });
  });

  test("a task that returns nothing leaves the record that it leaves without the option", async () => {
    await deliver(a, () => undefined);
    expect(service.record(id())).not.toHaveProperty("value");
    await expect(deliver(b, () => "again")).resolves.toEqual({ ran: false, reason: "done" });
  });

  class Money {
    readonly cents = 1;
  }
  const cycle: unknown[] = [];
  cycle.push(cycle);
  const unreadable = {
    get rows(): number {
      // oxlint-disable-next-line typescript/only-throw-error -- anything can be thrown
      throw undefined;
    },
  };
  test.for<[string, () => unknown, RegExp]>([
    ["a date", () => ({ at: new Date(0) }), /'at' is of the class Date/],
    ["a map", () => new Map(), /'result' is of the class Map/],
    ["an instance of a class", () => [new Money()], /'0' is of the class Money/],
    ["NaN", () => Number.NaN, /'result' is NaN/],
    ["a bigint", () => ({ rows: 7n }), /'rows' is a bigint/],
    ["a function", () => ({ go() {} }), /'go' is a function/],
    ["a hole", () => [undefined], /'0' is undefined/],
    ["a plain object with a toJSON of its own", () => ({ toJSON: () => 1 }), /'result' is/],
    [
      "an object without a prototype, with a toJSON",
      () => Object.setPrototypeOf({ toJSON: () => 1 }, null) as unknown,
      /'result' is/,
    ],
    ["an object that throws `undefined` when it is read", () => unreadable, /not JSON: something was thrown that is no error/],
    ["a cycle", () => cycle, /not JSON/],
    ["a text that is too large", () => "x".repeat(70_000), /has 70013 bytes as JSON; simulated keeps at most 1024/],
  ])("%s is not kept, which is logged: the work is done, and is not done again", async ([_, task, message]) => {
    const lines = new Lines();
    let runs = 0;
    const counted = (): unknown => {
      runs += 1;
      return task();
    };
    await expect(deliver(a, counted, { tries: 3, logger: lines })).resolves.toMatchObject({ ran: true, attempt: 1 });
    expect(runs).toBe(1);
    expect(lines.of("error")).toEqual([expect.stringMatching(message)]);
    expect(lines.of("error")[0]).toContain(`'${id()}' is done, and is recorded without a result.`);
    await expect(deliver(b, () => "again")).resolves.toEqual({ ran: false, reason: "done" });
  });

  test("keepResult that is no boolean is refused before any request", async () => {
    await expect(deliver(a, () => 1, { keepResult: "yes" as never })).rejects.toThrow("keepResult must be true or false");
    expect(a.requests).toEqual([]);
  });
});

test("without keepResult the record of a done occurrence has the fields of a lease and of its end, and no result", async () => {
  await deliver(a, () => ({ rows: 7 }), { keepResult: undefined });
  const fields = ["schema", "term", "termId", "candidateId", "nonce", "leaseDurationMs", "renewIntervalMs", "history", "done"];
  expect(Object.keys(service.record(id()) as object).toSorted()).toEqual(fields.toSorted());
  await expect(deliver(b, () => "again")).resolves.toEqual({ ran: false, reason: "done" });
});

describe("an occurrence whose last try failed", () => {
  test("is told apart from one that is done by later calls and by a read", async () => {
    const failing = deliver(
      a,
      () => {
        throw new RangeError("secret");
      },
      { tries: 1 },
    );
    await expect(failing).rejects.toThrow("secret");

    await expect(deliver(b, () => "again")).resolves.toEqual({ ran: false, reason: "failed", failure: "RangeError" });
    const kept = occurrencesOf(b.store, "nightly", 86_400_000, "this test");
    const found = await world.runUntil(kept.read(id()));
    expect(found?.bar).toEqual({ kind: "done", completion: { failure: "RangeError" } });
    expect(JSON.stringify(service.record(id()))).not.toContain("secret");
  });

  test("is told by at most 100 characters of its error's name", async () => {
    const failing = deliver(
      a,
      () => {
        throw Object.assign(new Error("x"), { name: "é".repeat(100_000) });
      },
      { tries: 1 },
    );
    await expect(failing).rejects.toThrow("x");
    await expect(deliver(b, () => "again")).resolves.toMatchObject({ reason: "failed", failure: "é".repeat(100) });
  });

  test("is recorded if the task throws an error whose name cannot be read", async () => {
    class Unreadable extends Error {
      override get name(): string {
        throw new Error("no name");
      }
    }
    const failing = deliver(
      a,
      () => {
        throw new Unreadable("disk full");
      },
      { tries: 1 },
    );
    await expect(failing.catch((error: unknown) => (error as Error).message)).resolves.toBe("disk full");
    await expect(deliver(b, () => "again")).resolves.toEqual({ ran: false, reason: "failed", failure: "Error" });
  });

  test("is done to a reader if another program has written a value that is no completion", async () => {
    await deliver(a, () => 1, { keepResult: undefined });
    for (const value of ["no JSON", '{"skipped":"rows 3 and 7"}']) {
      service.overwrite(id(), { ...(service.record(id()) as object), value });
      await expect(deliver(b, () => "again")).resolves.toEqual({ ran: false, reason: "done" });
    }
  });
});
