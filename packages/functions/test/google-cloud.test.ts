import { getEventListeners } from "node:events";
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { CloudEvent, Request, Response } from "@google-cloud/functions-framework";
import { ConfigurationError, MemoryLeaseStore } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import type { NotElected } from "@leasehold/functions";
import { onlyAsLeaderInJob, onlyAsLeaderOnCloudEvent, onlyAsLeaderOnHttp } from "@leasehold/functions/google-cloud";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";

const ELECTION = "nightly-billing";
/** A call in the format of Cloud Scheduler. */
const CALL = {
  headers: { "x-cloudscheduler-jobname": "nightly", "x-cloudscheduler-scheduletime": "2025-12-31T03:00:00Z" },
} as unknown as Request;

let clock: VirtualClock;
let store: MemoryLeaseStore;

beforeEach(() => {
  clock = new VirtualClock();
  store = new MemoryLeaseStore({ clock });
});

function options() {
  return { store, election: ELECTION, clock, logger: false } as const;
}

function event(id: string, time: string | undefined = "2025-12-31T03:00:00Z"): CloudEvent<string> {
  return {
    specversion: "1.0",
    type: "google.cloud.scheduler.job.v1.executed",
    source: "//example",
    id,
    time,
    data: "three",
  } as CloudEvent<string>;
}

/** Returns the platform's timeout. The leadership ends a second after it. */
function timeoutOf(leadership: { remainingMs(): number }): number {
  return Math.round(leadership.remainingMs() / 1_000) * 1_000 - 1_000;
}

describe("a CloudEvent", () => {
  test("gets a function of one parameter, because the framework calls a function of two with a callback", async () => {
    const handler = onlyAsLeaderOnCloudEvent(options(), ({ id, data }, { term }) => ({ id, data, term }));

    expect(handler).toHaveLength(1);
    await expect(handler(event("1234"))).resolves.toEqual({ id: "1234", data: "three", term: 1 });
  });

  test("names the candidate, together with its revision", async () => {
    stubEnv("K_REVISION", "billing-00042-abc");
    const handler = onlyAsLeaderOnCloudEvent(options(), (_event, { candidateId }) => candidateId);

    await expect(handler(event("1234"))).resolves.toBe("billing-00042-abc-1234");
  });

  test("without a revision names the candidate a function's", async () => {
    stubEnv("K_REVISION", undefined);
    const handler = onlyAsLeaderOnCloudEvent(options(), (_event, { candidateId }) => candidateId);

    await expect(handler(event("1234"))).resolves.toBe("function-1234");
  });

  test("is an occurrence by its id and time", async () => {
    const handler = onlyAsLeaderOnCloudEvent({ ...options(), gate: "oncePerTick" }, (_event, { occurrence }) => occurrence?.id);

    await expect(handler(event("1234"))).resolves.toBe("1234@2025-12-31T03:00:00.000Z");
    await expect(handler(event("1234"))).resolves.toEqual({ elected: false, reason: "done" });
    await expect(handler(event("5678"))).resolves.toBe("5678@2025-12-31T03:00:00.000Z");
    await expect(handler({ ...event("9"), time: "at night" })).rejects.toThrow(
      /The event's time is "at night".*Pass 'occurrence'/,
    );
  });
});

describe("the time of an invocation", () => {
  test.each([
    { seconds: undefined, timeoutMs: undefined, ms: 60_000 },
    { seconds: "540", timeoutMs: undefined, ms: 540_000 },
    { seconds: "1", timeoutMs: undefined, ms: 1_000 },
    { seconds: "0", timeoutMs: undefined, ms: 60_000 },
    { seconds: "540", timeoutMs: 30_000, ms: 30_000 },
  ])("is $ms ms where the variable says $seconds s and the option $timeoutMs ms", async ({ seconds, timeoutMs, ms }) => {
    stubEnv("CLOUD_RUN_TIMEOUT_SECONDS", seconds);
    const onEvent = onlyAsLeaderOnCloudEvent({ ...options(), timeoutMs }, (_event, leadership) => timeoutOf(leadership));

    await expect(onEvent(event("1234"))).resolves.toBe(ms);
  });

  test.each(["60s", Number.NaN, Infinity])("is refused by its name when the function is loaded, if it is %s", (given) => {
    const wrong = { ...options(), timeoutMs: given as number };
    expect(() => onlyAsLeaderOnCloudEvent(wrong, () => "ran")).toThrow(/^timeoutMs (is|must be) /);
    expect(() => onlyAsLeaderInJob(wrong, () => "ran")).toThrow(/^timeoutMs (is|must be) /);
  });

  test("is the default of a job's task in a job", async () => {
    stubEnv("CLOUD_RUN_TIMEOUT_SECONDS", undefined);

    await expect(onlyAsLeaderInJob(options(), timeoutOf)()).resolves.toBe(600_000);
    await expect(onlyAsLeaderInJob({ ...options(), timeoutMs: 3_600_000 }, timeoutOf)()).resolves.toBe(3_600_000);
  });
});

describe("a job", () => {
  test("names its execution, its task and its attempt", async () => {
    stubEnv("CLOUD_RUN_EXECUTION", "nightly-abc12");
    stubEnv("CLOUD_RUN_TASK_INDEX", "3");
    stubEnv("CLOUD_RUN_TASK_ATTEMPT", "1");

    await expect(onlyAsLeaderInJob(options(), ({ candidateId }) => candidateId)()).resolves.toBe("nightly-abc12-3-1");
  });

  test("outside of Cloud Run has a candidateId of its own", async () => {
    stubEnv("CLOUD_RUN_EXECUTION", undefined);

    await expect(onlyAsLeaderInJob(options(), ({ candidateId }) => candidateId)()).resolves.toMatch(/-\d+-/);
  });

  test("of several tasks is refused if they compete for one election, because all but one would skip their shares", async () => {
    stubEnv("CLOUD_RUN_TASK_COUNT", "4");
    const shares: string[] = [];
    for (const index of ["0", "1", "2", "3"]) {
      stubEnv("CLOUD_RUN_TASK_INDEX", index);
      const work = () => shares.push(index);
      const message = `This is task ${index} of the 4 of a Cloud Run job`;
      for (const election of [ELECTION, () => ELECTION, "billing-20"]) {
        expect(() => onlyAsLeaderInJob({ ...options(), election }, work)).toThrow(message);
      }
      await onlyAsLeaderInJob({ ...options(), election: `${ELECTION}-${index}` }, work)();
      await onlyAsLeaderInJob({ ...options(), election: () => `${index}.${ELECTION}` }, work)();
    }

    expect(shares).toEqual(["0", "0", "1", "1", "2", "2", "3", "3"]);
  });

  test("of one task may compete for any election", async () => {
    stubEnv("CLOUD_RUN_TASK_COUNT", "1");
    stubEnv("CLOUD_RUN_TASK_INDEX", "0");

    await expect(onlyAsLeaderInJob(options(), () => "ran")()).resolves.toBe("ran");
  });

  test("needs 'occurrence' for oncePerTick", async () => {
    const gated = { ...options(), gate: "oncePerTick" } as const;
    expect(() => onlyAsLeaderInJob(gated, () => "ran")).toThrow(ConfigurationError);

    const occurrence = () => ({ name: "nightly", scheduledMs: Date.parse("2025-12-31T03:00:00Z") });
    await expect(onlyAsLeaderInJob({ ...gated, occurrence }, () => "ran")()).resolves.toBe("ran");
  });

  test("whose task is tried again after the next tick does the occurrence of its execution, and the next execution its own", async () => {
    const done: string[] = [];
    const execution = (due: string) => {
      const occurrence = () => ({ name: "nightly", scheduledMs: Date.parse(due) });
      return async (fails: boolean): Promise<unknown> => {
        const job = onlyAsLeaderInJob({ ...options(), gate: "oncePerTick", occurrence }, ({ occurrence: claimed }) => {
          if (fails) throw new Error("out of memory");
          done.push(claimed?.id ?? "");
        });
        return await job().catch((error: unknown) => error);
      };
    };
    const first = execution("2025-12-31T03:00:00Z");
    await first(true);
    await clock.advance(900_000);
    await execution("2025-12-31T03:15:00Z")(false);
    await first(false);

    expect(done).toEqual(["nightly@2025-12-31T03:15:00.000Z", "nightly@2025-12-31T03:00:00.000Z"]);
  });
});

describe("a call of Cloud Scheduler", () => {
  const catchUp = { previous: (ms: number) => ms - 3_600_000, atMost: 1, since: "2025-12-31T00:00:00Z" };

  test("has an occurrence of the job's name and the scheduled time", async () => {
    const ids: (string | undefined)[] = [];
    const onHttp = onlyAsLeaderOnHttp({ ...options(), gate: "oncePerTick" }, (_request, _response, { occurrence }) => {
      ids.push(occurrence?.id);
    });
    const headers = {
      "x-cloudscheduler-jobname": "projects/p/locations/l/jobs/nightly",
      "x-cloudscheduler-scheduletime": "2025-12-31T04:00:00+01:00",
    };

    await onHttp({ headers } as unknown as Request, response());
    expect(ids).toEqual(["nightly@2025-12-31T03:00:00.000Z"]);
  });

  test("is answered once the lease is free, and leaves no listener on the signal", async () => {
    const answered = response();
    let signal!: AbortSignal;
    const release = store.release.bind(store);
    const freed = Promise.withResolvers<void>();
    store.release = async (...args) => {
      await freed.promise;
      return await release(...args);
    };
    const onHttp = onlyAsLeaderOnHttp(options(), (_request, given, leadership) => {
      ({ signal } = leadership);
      given.end("billed");
    });
    const done = onHttp(CALL, answered);
    await clock.settle();
    expect([getEventListeners(signal, "abort"), answered.writableEnded]).toEqual([[], false]);
    freed.resolve();
    await done;

    expect(answered.writableEnded).toBe(true);
  });

  test("whose handler throws after its answer is answered by the framework", async () => {
    const answered = response();
    const onHttp = onlyAsLeaderOnHttp(options(), (_request, given) => {
      given.statusCode = 201;
      given.end("billed");
      throw new Error("disk full");
    });

    await expect(onHttp(CALL, answered)).rejects.toThrow("disk full");
    expect([answered.statusCode, answered.headersSent, answered.writableEnded]).toEqual([200, false, false]);
  });

  test("that the handler answers with a failure is not done, and gets the handler's answer", async () => {
    const ran: string[] = [];
    const call = async (statusCode: number): Promise<Response> => {
      const answered = response();
      const onHttp = onlyAsLeaderOnHttp({ ...options(), gate: "oncePerTick" }, (_request, given, { occurrence }) => {
        ran.push(`attempt ${occurrence?.attempt}: ${statusCode}`);
        given.statusCode = statusCode;
        given.end("billed, or not");
      });
      await onHttp(CALL, Object.assign(answered, { status: () => ({ json: () => answered.end("skipped") }) }));
      return answered;
    };

    const failed = await call(503);
    expect([failed.statusCode, failed.writableEnded]).toEqual([503, true]);
    await call(400);
    await call(303);
    await call(200);
    expect(ran).toEqual(["attempt 1: 503", "attempt 2: 400", "attempt 3: 303"]);
  });

  test("whose missed occurrence fails is answered with that failure", async () => {
    const answered = response();
    const onHttp = onlyAsLeaderOnHttp({ ...options(), gate: "oncePerTick", catchUp }, (_request, given, { occurrence }) => {
      given.statusCode = occurrence?.caughtUp ? 503 : 200;
      given.end("billed, or not");
    });

    await expect(onHttp(CALL, answered)).rejects.toThrow("503");
    expect([answered.statusCode, answered.writableEnded]).toEqual([200, false]);
  });

  test("that fails does not make its missed occurrence fail", async () => {
    const done: (number | undefined)[] = [];
    const onHttp = onlyAsLeaderOnHttp({ ...options(), gate: "oncePerTick", catchUp }, (_request, given, { occurrence }) => {
      if (occurrence?.caughtUp) done.push(occurrence.attempt);
      else given.statusCode = 503;
      given.end("billed, or not");
    });
    for (const answered of [response(), response()]) {
      await onHttp(CALL, answered);
      expect([answered.statusCode, answered.writableEnded]).toEqual([503, true]);
    }
    expect(done).toEqual([1]);
  });

  test("without a job's name is refused as an occurrence", async () => {
    const onHttp = onlyAsLeaderOnHttp({ ...options(), gate: "oncePerTick" }, () => undefined);
    const headers = { "x-cloudscheduler-scheduletime": "2025-12-31T04:00:00+01:00" };

    await expect(onHttp({ headers } as unknown as Request, response())).rejects.toThrow(`The occurrence's name is "";`);
  });

  test("is answered with the result of onStandby while another invocation works", async () => {
    const answers: unknown[] = [];
    const answering = Object.assign(response(), {
      status: (code: number) => ({ json: (body: unknown) => answers.push([code, body]) }),
    });
    const working = Promise.withResolvers<void>();
    const request = { headers: { ...CALL.headers, "x-cloudscheduler-jobname": "elsewhere" } } as unknown as Request;
    const standby = { onStandby: ({ leader }: NotElected) => ({ ledIn: leader?.term }) };
    const first = onlyAsLeaderOnHttp(options(), () => working.promise)(CALL, response());
    await clock.settle();
    await onlyAsLeaderOnHttp({ ...options(), ...standby }, () => "ran")(request, answering);
    await onlyAsLeaderOnHttp({ ...options(), onStandby: () => undefined }, () => "ran")(request, answering);
    working.resolve();
    await first;

    expect(answers).toEqual([
      [200, { ledIn: 1 }],
      [200, null],
    ]);
  });

  test("whose time is over gets the answer that was held back", async () => {
    const answered = response();
    const beganMs = clock.monotonicMs();
    const onHttp = onlyAsLeaderOnHttp({ ...options(), timeoutMs: 30_000 }, async (_request, given, { signal }) => {
      given.end("billed");
      expect(answered.writableEnded).toBe(false);
      await clock.runUntil(new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true })));
      expect(answered.writableEnded).toBe(true);
      expect(clock.monotonicMs()).toBe(beganMs + 27_000);
    });

    await onHttp(CALL, answered);
  });

  test("without a scheduled time needs 'occurrence'", async () => {
    const onHttp = onlyAsLeaderOnHttp({ ...options(), gate: "oncePerTick" }, () => undefined);

    await expect(onHttp({ headers: {} } as Request, response())).rejects.toThrow(
      /The header X-CloudScheduler-ScheduleTime is missing.*Pass 'occurrence'/,
    );
  });
});

function response(): Response {
  return new ServerResponse(new IncomingMessage(new Socket())) as Response;
}

function stubEnv(name: string, value: string | undefined): void {
  vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
}
