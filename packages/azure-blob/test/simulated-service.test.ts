/**
 * The simulated Blob Storage answers as Microsoft's emulator does. Both get the same requests at the same times. After each
 * request both must have given the same answer, and show the same blob.
 */
import { text } from "node:stream/consumers";
import type { ContainerClient } from "@azure/storage-blob";
import { SeededRandom } from "@leasehold/core/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  conditionFailed,
  failureOf,
  isContainerGone,
  isGone,
  isTaken,
  lossOf,
  toStoreError,
  unlessItExists,
} from "../src/azure-blob-errors.ts";
import { startAzurite, type Azurite } from "@leasehold/test-kit/backends/azurite";
import { containerClient } from "@leasehold/test-kit/backends/fresh-container";
import { containerOn } from "@leasehold/test-kit/simulated/azure-http";
import { AzureService, type LeaseState } from "@leasehold/test-kit/simulated/azure-service";

const SEEDS = Array.from({ length: 35 }, (_, index) => index + 1);
const STEPS = 30;
const BLOB = "blob";
/** The distance of every request from the end of a lease, because Azurite's clock runs on while it answers. */
const MARGIN_S = 3;

type LeaseId = "a" | "b" | "c";
const LEASE_IDS: Readonly<Record<LeaseId, string>> = {
  a: "aaaaaaaa-0000-4000-8000-000000000000",
  b: "bbbbbbbb-0000-4000-8000-000000000000",
  c: "cccccccc-0000-4000-8000-000000000000",
};

/** The ETag that the blob has, the one that it had before, or one that it never has. Each service makes its own. */
type Etag = "current" | "former" | "foreign";
const FOREIGN_ETAG = '"0x8DC0FFEE0000000"';

interface Write {
  readonly value: string;
  readonly leaseId?: LeaseId | undefined;
  readonly ifMatch?: Etag | undefined;
}

/** One request to both services. A step that waits lets time pass first, and only reads the blob. */
type Step =
  | { readonly act: "create-container" }
  | ({ readonly act: "put"; readonly ifNoneMatch?: "*" | undefined } & Write)
  | ({ readonly act: "set-metadata" } & Write)
  | { readonly act: "acquire"; readonly leaseId: LeaseId; readonly seconds: number }
  | { readonly act: "renew" | "release"; readonly leaseId: LeaseId }
  | { readonly act: "break"; readonly seconds: number; readonly ifMatch?: Etag | undefined }
  | { readonly act: "wait"; readonly seconds: number };

/** The situation before a step, in the simulated service. */
interface Situation {
  readonly state: LeaseState | "no blob" | "no container";
  /** The present holder of the lease, or the last one. */
  readonly holder: LeaseId | undefined;
  /** The time until the lease expires, or a break ends it. 0 if no lease is in force. */
  readonly leftS: number;
}

/** The parts of an answer that the library uses. */
interface Answer {
  readonly status: number;
  /** The meanings of a failure. Several codes may mean the same. */
  readonly means: readonly string[];
  /** The lease that it names. */
  readonly leaseId?: string | undefined;
  /** The ETag that it names is the blob's. */
  readonly namesEtag?: boolean | undefined;
}

/** The answer to a HEAD after a step. */
interface Look {
  readonly status: number;
  readonly means: readonly string[];
  readonly leaseState?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly contentLength?: number | undefined;
  readonly etagChanged?: boolean | undefined;
}

interface Outcome {
  readonly answer: Answer;
  readonly look: Look;
}

/** A request that Azurite answers in a way of its own. */
interface Departure {
  readonly name: string;
  readonly applies: (step: Step, situation: Situation) => boolean;
  readonly azurite: Pick<Answer, "status" | "means">;
  readonly simulated: Pick<Answer, "status" | "means">;
  /** It leaves the two in different states, so nothing can be compared after it. */
  readonly diverges: boolean;
  /** The last step of this example is such a request. */
  readonly example: readonly Step[];
}

const CREATED: readonly Step[] = [{ act: "create-container" }, { act: "put", value: "1" }];
const EXPIRED: readonly Step[] = [...CREATED, { act: "acquire", leaseId: "a", seconds: 15 }, { act: "wait", seconds: 20 }];

const DEPARTURES: readonly Departure[] = [
  {
    // By the documentation, renewing an expired lease under another id fails with 409. Azurite does not check the id then.
    name: "renews an expired lease under any id",
    applies: (step, { state, holder }) => step.act === "renew" && state === "expired" && step.leaseId !== holder,
    azurite: { status: 200, means: [] },
    simulated: { status: 409, means: ["lost: taken"] },
    diverges: true,
    example: [...EXPIRED, { act: "renew", leaseId: "b" }],
  },
  {
    // Azure answers 404 to a read with If-Match of a missing blob, and Azurite 412: https://github.com/Azure/Azurite/issues/2751.
    // The documentation does not mention writes, so the simulation keeps to 404. Only a Put Blob needs no blob, and fails for its
    // condition on both sides.
    name: "says that a condition has failed where there is no blob",
    applies: (step, { state }) =>
      state === "no blob" && (step.act === "set-metadata" || step.act === "break") && step.ifMatch !== undefined,
    azurite: { status: 412, means: ["condition failed"] },
    simulated: { status: 404, means: ["lost: missing", "gone"] },
    diverges: false,
    example: [{ act: "create-container" }, { act: "break", seconds: 60, ifMatch: "foreign" }],
  },
  {
    // The documentation leaves open which reason is reported for a write that fails for both. Azure's own clients take a 412 to
    // If-None-Match as a lease's. So Azure seems to check the lease first, as the simulation does with If-Match.
    name: "tells of a failed condition before it looks at the lease",
    applies: (step, situation) => isPlainWrite(step) && failsForItsCondition(step) && failsForTheLease(step, situation),
    azurite: { status: 412, means: ["condition failed"] },
    simulated: { status: 412, means: ["lost: taken"] },
    diverges: false,
    example: [...EXPIRED, { act: "set-metadata", value: "2", leaseId: "a", ifMatch: "foreign" }],
  },
];

let azurite: Azurite;
/** The time by which Azurite's clock is ahead of this process's. */
let aheadMs = 0;

beforeAll(async () => {
  azurite = await startAzurite();
});

afterAll(async () => {
  await azurite.stop();
});

describe("the simulated Blob Storage", () => {
  test.each(SEEDS)("answers as Azurite does (seed %i)", async (seed) => {
    const services = new Services();
    const story: string[] = [];
    for (const step of stepsOf(seed, services.simulated)) {
      const { situation } = services.simulated;
      story.push(`${JSON.stringify(step)} finds ${JSON.stringify(situation)}`);

      const { simulated, azurites } = await services.take(step);

      const departure = DEPARTURES.find(({ applies }) => applies(step, situation));
      if (departure) expectAnswer(simulated, departure.simulated);
      const answer = { ...simulated.answer, ...departure?.azurite };
      expect(azurites, `Azurite, and not the simulation, after seed ${seed}:\n${story.join("\n")}\n`).toEqual({
        ...simulated,
        answer,
      });
    }
  });

  test.each(DEPARTURES)(
    "differs from Azurite, which $name",
    async ({ azurite: otherwise, simulated: rightly, applies, example }) => {
      const services = new Services();
      for (const step of example.slice(0, -1)) {
        const { simulated, azurites } = await services.take(step);
        expect(azurites).toEqual(simulated);
      }
      const last = example.at(-1)!;
      expect(applies(last, services.simulated.situation)).toBe(true);

      const { simulated, azurites } = await services.take(last);

      expectAnswer(simulated, rightly);
      expectAnswer(azurites, otherwise);
    },
  );

  test("is compared in every cell of the documentation's tables", async () => {
    const cells = new Set<string>();
    for (const seed of SEEDS) {
      const simulated = new Simulated(Date.now());
      for (const step of stepsOf(seed, simulated)) {
        cells.add(cellOf(step, simulated.situation));
        await simulated.take(step);
      }
    }

    expect(allCells().filter((cell) => !cells.has(cell))).toEqual([]);
  });
});

test("the simulated Blob Storage lists blobs in pages, and returns their content, as Azurite does", async () => {
  const service = new AzureService(() => Date.now());
  const shown = [];
  for (const container of [containerOn((request) => service.answer(request)), containerClient(azurite.url)]) {
    await container.create();
    for (const name of ["p%q", "p&<q>", "q", "p", "ticks/p/1", "p/r"]) {
      const blob = container.getBlockBlobClient(name);
      await blob.upload(`of ${name}`, `of ${name}`.length, { metadata: { for: "a&b" } });
      if (name === "p") await blob.getBlobLeaseClient(LEASE_IDS.a).acquireLease(15);
    }
    const pages = container.listBlobsByHierarchy("/", { prefix: "p", includeMetadata: true }).byPage({ maxPageSize: 2 });
    const listed = await Array.fromAsync(pages, ({ segment }) =>
      segment.blobItems.map(({ name, metadata, properties: { leaseState, contentLength } }) => [
        name,
        metadata,
        leaseState,
        contentLength,
      ]),
    );
    const content = await container.getBlobClient("p%q").download();
    shown.push({ listed, content: await text(content.readableStreamBody!) });
  }
  expect(shown[0]).toEqual(shown[1]);
});

/** Expects that an answer has at least these meanings. */
function expectAnswer({ answer }: Outcome, { status, means }: Departure["azurite"]): void {
  expect(answer).toMatchObject({ status, means: expect.arrayContaining([...means]) });
}

/** Yields the steps of a seed. Each is drawn after the steps before it have been taken. */
function* stepsOf(seed: number, simulated: Simulated): Generator<Step> {
  const random = new SeededRandom(Math.imul(seed, 0x9e3779b1));
  for (let taken = 0; taken < STEPS;) {
    const step = drawStep(random, simulated.situation);
    if (DEPARTURES.some(({ applies, diverges }) => diverges && applies(step, simulated.situation))) continue;
    taken += 1;
    yield step;
  }
}

/** Draws any step, but more often one that leads to another state. */
function drawStep(random: SeededRandom, situation: Situation): Step {
  const { state, holder } = situation;
  if (state === "no container" && random.chance(0.4)) return { act: "create-container" };
  if (state === "no blob" && random.chance(0.2)) return { act: "put", value: "first", ifNoneMatch: "*" };
  const leaseId = holder && random.chance(0.5) ? holder : random.pick<LeaseId>(["a", "b", "c"]);
  const act = drawAct(random, state);
  switch (act) {
    case "create-container":
      return { act };
    case "put":
      return random.chance(0.2)
        ? { act, ...drawWrite(random, leaseId), ifMatch: undefined, ifNoneMatch: "*" }
        : { act, ...drawWrite(random, leaseId) };
    case "set-metadata":
      return { act, ...drawWrite(random, leaseId) };
    case "acquire":
      return { act, leaseId, seconds: random.pick([15, 60, wholeBetween(random, 16, 59)]) };
    case "renew":
    case "release":
      return { act, leaseId };
    case "break":
      return { act, seconds: random.pick([0, 60, wholeBetween(random, MARGIN_S, 59)]), ifMatch: drawIfMatch(random) };
    case "wait":
      return { act, seconds: drawWait(random, situation) };
  }
}

function drawAct(random: SeededRandom, state: Situation["state"]): Step["act"] {
  // Without this bias the rarer states are hardly ever reached.
  if (state === "available" && random.chance(0.5)) return "acquire";
  if (state === "leased" && random.chance(0.4)) return random.pick(["break", "wait"]);
  if ((state === "broken" || state === "expired") && random.chance(0.4)) return random.pick(["put", "set-metadata"]);
  if (random.chance(0.02)) return "create-container";
  return random.pick(["put", "set-metadata", "acquire", "renew", "release", "break", "wait"]);
}

function drawWrite(random: SeededRandom, leaseId: LeaseId): Write {
  const value = "x".repeat(wholeBetween(random, 1, 9));
  return { value, leaseId: random.chance(0.7) ? leaseId : undefined, ifMatch: drawIfMatch(random) };
}

function drawIfMatch(random: SeededRandom): Etag | undefined {
  return random.chance(0.3) ? random.pick(["current", "current", "former", "foreign"]) : undefined;
}

/** Draws a part of the lease that is in force, or more than all of it. */
function drawWait(random: SeededRandom, { leftS }: Situation): number {
  const within = leftS > MARGIN_S && random.chance(0.5);
  return within ? wholeBetween(random, 0, leftS - MARGIN_S) : wholeBetween(random, leftS + MARGIN_S, leftS + 30);
}

/** Draws a whole number. Both limits are included. */
function wholeBetween(random: SeededRandom, least: number, most: number): number {
  return Math.floor(random.between(least, most + 1));
}

/** True for a write whose condition, if it has one, is about the blob's ETag. */
function isPlainWrite(step: Step): step is Step & Write {
  return step.act === "set-metadata" || (step.act === "put" && step.ifNoneMatch === undefined);
}

function failsForItsCondition({ ifMatch }: Write): boolean {
  return ifMatch !== undefined && ifMatch !== "current";
}

function failsForTheLease({ leaseId }: Write, { state, holder }: Situation): boolean {
  if (state === "no blob" || state === "no container") return false;
  return state === "leased" || state === "breaking" ? leaseId !== holder : leaseId !== undefined;
}

/** Returns the cell of a step in the documentation's tables. A step with a condition has no cell. */
function cellOf(step: Step, { state, holder }: Situation): string {
  if (step.act === "break" && !step.ifMatch) return `break ${step.seconds === 0 ? "at once" : "later"}, ${state}`;
  if (isPlainWrite(step) && !step.ifMatch) return `${step.act} ${whoseId(step.leaseId, holder)}, ${state}`;
  if (step.act === "acquire" || step.act === "renew" || step.act === "release")
    return `${step.act} ${whoseId(step.leaseId, holder)}, ${state}`;
  return "none";
}

function whoseId(leaseId: LeaseId | undefined, holder: LeaseId | undefined): string {
  if (leaseId === undefined) return "without an id";
  return leaseId === holder ? "with its id" : "with another id";
}

/**
 * Returns the cells of what may be tried in each state of a lease.
 * https://learn.microsoft.com/rest/api/storageservices/lease-blob#outcomes-of-use-attempts-on-blobs-by-lease-state
 */
function allCells(): string[] {
  const anonymous = ["break at once", "break later", "put without an id", "set-metadata without an id"];
  const named = ["acquire", "renew", "release", "put", "set-metadata"];
  const states = ["leased", "breaking", "broken", "expired"];
  const cells = [
    ...["available", ...states].flatMap((state) => anonymous.map((act) => `${act}, ${state}`)),
    ...["available", ...states].flatMap((state) => named.map((act) => `${act} with another id, ${state}`)),
    ...states.flatMap((state) => named.map((act) => `${act} with its id, ${state}`)),
  ];
  // A test of its own compares this cell.
  return cells.filter((cell) => cell !== "renew with another id, expired");
}

/** Both services, at the same time. */
class Services {
  readonly simulated = new Simulated(Date.now());
  readonly #azurites = new Side(containerClient(azurite.url));

  async take(step: Step): Promise<{ readonly simulated: Outcome; readonly azurites: Outcome }> {
    const simulated = await this.simulated.take(step);
    await setAzuriteTo(this.simulated.nowMs);
    return { simulated, azurites: await this.#azurites.take(step) };
  }
}

/** Sets Azurite's clock, which then runs on. It is set again before every step. */
async function setAzuriteTo(timeMs: number): Promise<void> {
  const byMs = timeMs - (Date.now() + aheadMs);
  aheadMs += byMs;
  await azurite.advance(byMs);
}

/** The simulated service. Its time passes only in steps that wait. */
class Simulated {
  readonly #service = new AzureService(() => this.#nowMs);
  readonly #side = new Side(containerOn((request) => this.#service.answer(request)));
  #nowMs: number;
  #look: Look | undefined;

  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  get situation(): Situation {
    const lease = this.#service.leaseOf(BLOB);
    const holder = (["a", "b", "c"] as const).find((id) => LEASE_IDS[id] === lease?.id);
    const inForce = lease?.state === "leased" || lease?.state === "breaking";
    return { state: this.#state(lease?.state), holder, leftS: inForce ? (lease.untilMs - this.#nowMs) / 1_000 : 0 };
  }

  async take(step: Step): Promise<Outcome> {
    if (step.act === "wait") this.#nowMs += step.seconds * 1_000;
    const outcome = await this.#side.take(step);
    this.#look = outcome.look;
    return outcome;
  }

  #state(leaseState: LeaseState = "available"): Situation["state"] {
    if (!this.#look || this.#look.means.includes("container gone")) return "no container";
    return this.#look.means.includes("gone") ? "no blob" : leaseState;
  }
}

/** One of the services, as the SDK reaches it. */
class Side {
  readonly #container: ContainerClient;
  readonly #etags: Record<Etag, string> = { current: FOREIGN_ETAG, former: FOREIGN_ETAG, foreign: FOREIGN_ETAG };

  constructor(container: ContainerClient) {
    this.#container = container;
  }

  async take(step: Step): Promise<Outcome> {
    const reply = await settled(this.#send(step));
    const head = await settled(this.#container.getBlobClient(BLOB).getProperties());
    const { status, means } = gistOf(reply);
    if (!reply.value) return { answer: { status, means }, look: this.#look(head) };
    const answer = { status, means, leaseId: step.act === "acquire" || step.act === "renew" ? reply.value.leaseId : undefined };
    const namesEtag = step.act === "create-container" ? undefined : reply.value.etag === head.value?.etag;
    return { answer: { ...answer, namesEtag }, look: this.#look(head) };
  }

  async #send(step: Step): Promise<Reply> {
    const blob = this.#container.getBlockBlobClient(BLOB);
    const leaseOf = (leaseId: LeaseId) => blob.getBlobLeaseClient(LEASE_IDS[leaseId]);
    switch (step.act) {
      case "create-container":
        return await this.#container.create();
      case "put": {
        const conditions = { ...this.#conditions(step), ...(step.ifNoneMatch && { ifNoneMatch: step.ifNoneMatch }) };
        return await blob.upload(step.value, step.value.length, { conditions, metadata: { put: step.value } });
      }
      case "set-metadata":
        return await blob.setMetadata({ set: step.value }, { conditions: this.#conditions(step) });
      case "acquire":
        return await leaseOf(step.leaseId).acquireLease(step.seconds);
      case "renew":
        return await leaseOf(step.leaseId).renewLease();
      case "release":
        return await leaseOf(step.leaseId).releaseLease();
      case "break":
        return await blob.getBlobLeaseClient().breakLease(step.seconds, { conditions: this.#conditions(step) });
      case "wait":
        return await blob.getProperties();
    }
  }

  #conditions({ leaseId, ifMatch }: Partial<Write>): { leaseId?: string; ifMatch?: string } {
    return { ...(leaseId && { leaseId: LEASE_IDS[leaseId] }), ...(ifMatch && { ifMatch: this.#etags[ifMatch] }) };
  }

  #look(head: Settled<Head>): Look {
    if (!head.value) return gistOf(head);
    const { leaseState, metadata, contentLength, etag = "" } = head.value;
    const etagChanged = etag !== this.#etags.current;
    if (etagChanged) {
      this.#etags.former = this.#etags.current;
      this.#etags.current = etag;
    }
    return { ...gistOf(head), leaseState, metadata, contentLength, etagChanged };
  }
}

interface Reply {
  readonly etag?: string;
  readonly leaseId?: string;
  /** The SDK's type of some replies lacks it, but every reply has it. */
  readonly _response?: { readonly status: number };
}

interface Head extends Reply {
  readonly leaseState?: string;
  readonly metadata?: Record<string, string>;
  readonly contentLength?: number;
}

type Settled<T> = { readonly value: T } | { readonly value?: undefined; readonly error: Error };

async function settled<T>(request: Promise<T>): Promise<Settled<T>> {
  return await request.then(
    (value) => ({ value }),
    (error: unknown) => ({ error: toStoreError(error, "request", BLOB, true) }),
  );
}

/** Returns the status, and the library's checks of a failure that answer yes. */
function gistOf(reply: Settled<Reply>): Pick<Answer, "status" | "means"> {
  if (reply.value) return { status: reply.value._response?.status ?? 0, means: [] };
  const failure = failureOf(reply.error);
  const loss = lossOf(failure);
  const answers: ReadonlyArray<readonly [string, boolean]> = [
    [`lost: ${loss}`, loss !== undefined],
    ["taken", isTaken(failure)],
    ["condition failed", conditionFailed(failure)],
    ["gone", isGone(failure)],
    ["container gone", isContainerGone(failure)],
    ["exists", isOfAnExisting(reply.error)],
  ];
  return { status: failure.status, means: answers.filter(([, yes]) => yes).map(([name]) => name) };
}

function isOfAnExisting(error: Error): boolean {
  try {
    unlessItExists(error);
    return true;
  } catch {
    return false;
  }
}
