import { hostname } from "node:os";
import { MemoryRecordStore } from "@leasehold/core/provider";
import { AlreadyAbortedError } from "../src/reporting/errors.ts";
import { ConfigurationError, Elector, MemoryLeaseStore, Observer, type ElectorOptions } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { describe, expect, test } from "vitest";
import { ELECTION } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld } from "./election-world.ts";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";

describe("misconfiguration is an error at construction, with the numbers and without a request", () => {
  const refused: ReadonlyArray<readonly [string, Readonly<Record<string, unknown>>, message: string]> = [
    ["an empty election", { election: "" }, "election is empty; give it 1 to 255 bytes."],
    ["no election", { election: undefined }, "election must be a string, not undefined."],
    ["an empty candidateId", { candidateId: "" }, "candidateId is empty"],
    ["a value that the store cannot hold", { value: "x".repeat(65_537) }, "value has 65537 bytes of UTF-8; at most 65536 fit."],
    ["a value that is no text", { value: 8080 }, "value must be a string, not number."],
    [
      "an infinite lease",
      { leaseDurationMs: Infinity },
      "leaseDurationMs is Infinity; a leader that crashed could then never be replaced.",
    ],
    ["a lease in seconds", { leaseDurationMs: 30 }, "Were 30 seconds meant? Then it is 30000."],
    [
      "an option of another name",
      { leaseDuration: 30_000 },
      "Elector has no option 'leaseDuration'. Was 'leaseDurationMs' meant?",
    ],
    ["a logger that is none", { logger: { info: () => undefined } }, "logger has no debug, no warn, no error."],
    ["an unknown startup", { startup: "lazy" }, "startup is \"lazy\"; it must be 'fail-fast' or 'patient'."],
    ["a lease in words", { leaseDurationMs: "15s" }, 'leaseDurationMs must be a number; it is the text "15s".'],
    [
      "a lease that is a number as text",
      { leaseDurationMs: "15000" },
      'leaseDurationMs must be a number; it is the text "15000". Pass milliseconds as a number: use Number(...).',
    ],
    [
      "a renew interval that cannot fit",
      { renewIntervalMs: 9_000, attemptTimeoutMs: 1_000 },
      "is 11000, more than renewDeadlineMs",
    ],
    ["a renew deadline that cannot fit", { renewDeadlineMs: 14_000 }, "renewDeadlineMs must be less than 13500"],
    ["minTerm zero", { minTerm: 0 }, "minTerm is 0; it must be a whole number from 1 to 9007199254740991."],
    ["a fraction of a term", { minTerm: 2.5 }, "minTerm is 2.5; it must be a whole number from 1 to 9007199254740991."],
    ["an unknown onOverrun", { onOverrun: "abort" }, "onOverrun is \"abort\"; it must be 'report' or 'exit'."],
  ];

  test.each(refused)("%s", (_, options, message) => {
    const world = new ElectionWorld();
    const store = new MemoryLeaseStore({ clock: world.clock });

    const make = (): unknown => new Elector({ store, election: ELECTION, clock: world.clock, ...options } as ElectorOptions);

    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(message);
    expect(world.clock.pendingTimers).toBe(0);
  });

  test.each([
    ["nothing", undefined],
    ["null", null],
    ["an empty object", {}],
    ["the class instead of an object of it", MemoryLeaseStore],
    ["a record store, which is only half of it", new MemoryRecordStore()],
    ["a URL", "postgres://localhost"],
    ["a store without one of the methods", Object.assign(new MemoryLeaseStore(), { nextLookMs: undefined })],
    ["a store without capabilities", Object.assign(new MemoryLeaseStore(), { capabilities: undefined })],
    ["a store whose capabilities are null", Object.assign(new MemoryLeaseStore(), { capabilities: null })],
  ])("%s for a store", (_, store) => {
    expect(() => new Elector({ store: store as never, election: ELECTION })).toThrow("store is not a LeaseStore. Make one first");
    expect(() => new Observer({ store: store as never, election: ELECTION })).toThrow(ConfigurationError);
  });

  test("a bad duration for an observer", () => {
    const store = new MemoryLeaseStore();

    expect(() => new Observer({ store, election: ELECTION, retryPeriodMs: 0 })).toThrow("retryPeriodMs is 0 ms");
    expect(() => new Observer({ store, election: ELECTION, attemptTimeoutMs: NaN })).toThrow("attemptTimeoutMs must be a number");
    expect(() => new Observer({ store, election: "" })).toThrow("election is empty");
    expect(() => new Observer({ store, election: ELECTION, retryPeriod: 1 } as never)).toThrow("Was 'retryPeriodMs' meant?");
  });

  test.each(["run", "campaign", "tryRun"] as const)("%s with something else for a signal", async (call) => {
    const world = new ElectionWorld();
    const { elector } = world.candidate("a");
    const options = { signal: new AbortController() as unknown as AbortSignal };

    const calling = call === "campaign" ? elector.campaign(options) : elector[call](untilAborted, options);

    await expect(calling).rejects.toThrow(`The signal given to ${call} is not an AbortSignal.`);
    expect(world.service.log).toHaveLength(0);
  });
});

describe("a call with options that it does not have is refused, also in JavaScript, before any request", () => {
  const CALLS: Readonly<Record<string, (elector: Elector, options: never) => Promise<unknown>>> = {
    run: (elector, options) => elector.run(untilAborted, options),
    campaign: (elector, options) => elector.campaign(options),
    tryRun: (elector, options) => elector.tryRun(untilAborted, options),
    tryCampaign: (elector, options) => elector.tryCampaign(options),
    stop: (elector, options) => elector.stop(options),
    observe: (elector, options) => elector.observe(options).next(),
  };

  test.each(Object.entries(CALLS))("%s", async (name, call) => {
    const world = new ElectionWorld();
    const { elector } = world.candidate("a");
    const refuses = async (options: unknown, message: string): Promise<void> => {
      const calling = call(elector, options as never);
      await expect(calling).rejects.toThrow(ConfigurationError);
      await expect(call(elector, options as never)).rejects.toThrow(message);
    };

    await refuses(
      new AbortController().signal,
      `${name} takes its options as an object, and was given an AbortSignal. Pass { signal }.`,
    );
    if (name !== "stop")
      await refuses({ sginal: new AbortController().signal }, `${name} has no option 'sginal'. Was 'signal' meant?`);
    else await refuses({ signal: new AbortController().signal }, "stop has no option 'signal'. There are: planned.");
    await refuses(null, `${name} needs its options, an object.`);
    expect(world.service.log).toHaveLength(0);
    // The elector is not busy afterwards.
    if (name !== "stop") expect(await elector.tryRun(() => "ran")).toMatchObject({ elected: true });
  });

  test("run with its options in the place of the task", async () => {
    const { elector } = new ElectionWorld().candidate("a");
    const options = { signal: new AbortController().signal };

    await expect(elector.run(options as never)).rejects.toThrow("call run(undefined, { signal })");
  });
});

describe("a listener", () => {
  test("for an event that there is not is refused", () => {
    const { elector } = new ElectionWorld().candidate("a");

    expect(() => elector.on("startedLeadin" as never, () => 0)).toThrow(
      "Elector has no event 'startedLeadin'. Was 'startedLeading' meant?",
    );
    expect(() => elector.on("error" as never, () => 0)).toThrow(
      "Elector has no event 'error'. There are: standby, startedLeading,",
    );
    expect(() => elector.on("ending", undefined as never)).toThrow("The listener for 'ending' is not a function.");
  });
});

describe("a signal that has aborted before", () => {
  test.each(["run", "campaign", "tryRun"] as const)("%s rejects at once, and sends nothing", async (call) => {
    const world = new ElectionWorld();
    const { elector } = world.candidate("a");
    const reason = new Error("shutting down");
    const options = { signal: AbortSignal.abort(reason) };

    const calling = call === "campaign" ? elector.campaign(options) : elector[call](untilAborted, options);
    const error: unknown = await calling.catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(AlreadyAbortedError);
    expect(error).toMatchObject({ code: "ALREADY_ABORTED", election: ELECTION, cause: reason });
    await world.clock.advance(60_000);
    expect(world.service.log).toHaveLength(0);
  });

  test("observe throws at the first step, and sends nothing", async () => {
    const world = new ElectionWorld();
    const { elector } = world.candidate("a");

    await expect(elector.observe({ signal: AbortSignal.abort() }).next()).rejects.toBeInstanceOf(AlreadyAbortedError);
    expect(world.service.log).toHaveLength(0);
  });

  test("the elector is free afterwards", async () => {
    const world = new ElectionWorld();
    const { elector } = world.candidate("a");
    await elector.run(untilAborted, { signal: AbortSignal.abort() }).catch(() => undefined);

    expect(await elector.tryRun(() => "ran")).toMatchObject({ elected: true });
  });
});

describe("candidates", () => {
  test("are called <host>-<pid>-<random> by default, each differently", () => {
    const clock = new VirtualClock();
    const store = new MemoryLeaseStore({ clock });
    const [one, two] = [new Elector({ store, election: ELECTION, clock }), new Elector({ store, election: ELECTION, clock })];

    expect(one.candidateId).toMatch(new RegExp(`^${hostname().slice(0, 40)}-${process.pid}-[0-9a-f]{8}$`));
    expect(one.candidateId).not.toBe(two.candidateId);
  });
});
