import type { Clock, StoreMember } from "@leasehold/core";
import { membersText, sleep } from "@leasehold/core/provider";
import { Admission, majorityOf } from "./admission.ts";
import { Ballots } from "./ballots.ts";
import type { Disk } from "./disk.ts";
import { keptOf, textOf } from "./memory-on-disk.ts";
import type {
  Acknowledgement,
  Answer,
  Break,
  Elect,
  ElectionRequest,
  Envelope,
  Lead,
  Pong,
  Release,
  Request,
  Told,
  Transfer,
  Vote,
} from "./messages.ts";
import type { Transport } from "./transport.ts";
import { OBSERVER } from "./messages.ts";
import { Pace } from "./pace.ts";
import { Peers, TAKES_NO_PART } from "./peers.ts";
import { PreVotes } from "./pre-votes.ts";
import type { Troubles } from "./troubles.ts";

/** The wait before a server that does not take part yet asks the others once more, and how long each has to answer. */
const ASK_AGAIN_MS = 250;
const TELL_TIMEOUT_MS = 1_000;
/** The wait before a write that has failed is made again, as a whole: until then nothing of it was said. */
const WRITE_AGAIN_MS = 1_000;
const PING_EVERY_MS = 10_000;
const PING_ABSENT_EVERY_MS = 2_000;
/** The requests whose answers are held, or wait for a sync: they tell nothing of the way. */
const WAITS: ReadonlySet<Request["kind"]> = new Set(["ELECT", "RELEASE", "BREAK", "TRANSFER"]);
const NOTHING = { floor: 0, clockFloor: 0, isFresh: false, elections: {} };

export interface ServerOptions {
  readonly name: string;
  /** All of them, in any order. */
  readonly names: readonly string[];
  /** What the names of all servers come to; see `clusterOf`. */
  readonly cluster: string;
  readonly clock: Clock;
  readonly disk: Disk;
  readonly transport: Transport;
  /** What is on its disk is from another list of servers. */
  readonly isMoved?: boolean | undefined;
  /** It takes part with this list, and what it has to know for that is on its disk. */
  readonly onBegun?: (() => void) | undefined;
  /** Are told to a person. */
  readonly troubles?: Pick<Troubles, "tell" | "lasts" | "ends"> | undefined;
}

/** One server: votes by the rules of {@link Ballots}, once what it has to keep is on its disk, and asks the others. */
export class Server {
  readonly name: string;
  readonly others: readonly string[];
  readonly majority: number;
  readonly clock: Clock;
  readonly #options: ServerOptions;
  readonly #start: string;
  /** The start of each other one that was met last, and how often it was another one than before. */
  readonly #starts = new Map<string, string>();
  readonly #restarts = new Map<string, number>();
  /** How often each other one has written, the most that was heard of; and the most that each remembers of this one. */
  readonly #seen = new Map<string, number>();
  readonly #remembered = new Map<string, number>();
  readonly #watchers = new Set<(election: string) => void>();
  readonly #closed = new AbortController();
  /** What round trips and syncs take. */
  readonly pace: Pace = new Pace();
  readonly #preVotes: PreVotes;
  readonly #peers: Peers;
  #ballots: Ballots;
  #admission: Admission;
  /** It was found that it may take part; see {@link Admission}. */
  #takesPart = false;
  /** Of what is on the disk or on its way there, and of what is certainly there. */
  #writes = 0;
  #written = 0;
  #syncedVersion = 0;
  #writing: Promise<void> = Promise.resolve();
  #isWriting = false;
  #isBroken = false;

  constructor(options: ServerOptions) {
    const { name, names, clock } = options;
    this.#options = options;
    this.name = name;
    this.others = names.filter((other) => other !== name);
    this.majority = majorityOf(names.length);
    this.clock = clock;
    this.#start = clock.randomUuid();
    this.#ballots = new Ballots(NOTHING, clock.monotonicMs());
    this.#admission = this.#admit({ forgot: true });
    this.#preVotes = new PreVotes(clock);
    this.#peers = new Peers(clock);
  }

  /** Reads the disk, and begins to listen. It takes part as soon as it may. */
  async start(): Promise<void> {
    const kept = keptOf(await this.#options.disk.read());
    this.#ballots = new Ballots(kept ?? NOTHING, this.clock.monotonicMs());
    this.#writes = kept?.writes ?? 0;
    this.#written = this.#writes;
    for (const [server, writes] of Object.entries(kept?.seen ?? {})) this.#seen.set(server, writes);
    this.#admission = this.#admit({ forgot: kept === undefined, isMoved: this.#options.isMoved });
    await this.#options.transport.listen((message) => this.receive(message), this.#start);
    void this.#join();
    void this.#pingOthers();
  }

  /** All servers, this one first. */
  get everyone(): readonly string[] {
    return [this.name, ...this.others];
  }

  get takesPart(): boolean {
    return this.#takesPart && !this.#isSilent;
  }

  /** All servers, as this one knows them. */
  members(): readonly StoreMember[] {
    const counts = this.takesPart;
    const own = { name: this.name, store: "voting", counts, forMs: 0, waitsFor: counts ? undefined : TAKES_NO_PART };
    return [own, ...this.others.map((other) => this.#peers.member(other))];
  }

  /** Until its disk takes what it has decided; or for good, once it is closed. */
  get #isSilent(): boolean {
    return this.#isBroken || this.#closed.signal.aborted;
  }

  get ballots(): Ballots {
    return this.#ballots;
  }

  /** Calls back whenever a LEAD, a RELEASE or an order of some election has arrived. Returns what ends that. */
  onSign(watcher: (election: string) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Asks one server, which may be this one. Rejects where there is no answer in time. */
  async ask(to: string, request: Request, timeoutMs: number): Promise<Answer> {
    if (this.#closed.signal.aborted) throw new Error("This server is closed.");
    if (to === this.name) return await this.#answer(request, this.name);
    const answer = await this.#send(to, request, timeoutMs);
    if (answer) return answer;
    // It was started again meanwhile: now its present start is known.
    const again = await this.#send(to, request, timeoutMs);
    if (again) return again;
    throw new Error(`${to} was started again and again.`);
  }

  /**
   * Writes down what the others have told of their writes: whoever has a server's vote, or its word to keep a hold or an
   * order, remembers that it has written, also after a start.
   */
  async remember(): Promise<void> {
    this.#ballots.version += 1;
    await this.#synced(this.#ballots.version);
  }

  /** What this server answers to another one; undefined where the message is not for it. */
  async receive(message: Envelope<Request>): Promise<Envelope<Answer> | undefined> {
    const { cluster, from, to, start, toStart, content } = message;
    if (from === OBSERVER) return this.#envelope(OBSERVER, start, await this.#answerObserver(content));
    if (cluster !== this.#options.cluster || to !== this.name || !this.others.includes(from)) return undefined;
    this.#meet(message);
    if (toStart !== undefined && toStart !== this.#start) return this.#envelope(from, start, { kind: "SILENT" });
    // What does not say for which start it is may be from before it: it only learns of the present one.
    if (toStart === undefined && !isOfNoStart(content)) return this.#envelope(from, start, { kind: "SILENT" });
    return this.#envelope(from, start, await this.#answer(content, from));
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#options.transport.close();
    await this.#writing.catch(() => undefined);
  }

  /** Undefined: the message was for an earlier start of the receiver. */
  async #send(to: string, content: Request, timeoutMs: number): Promise<Answer | undefined> {
    const toStart = this.#starts.get(to);
    const restarts = this.#restarts.get(to);
    const sentMs = this.clock.monotonicMs();
    const answer = await this.#options.transport.send(this.#envelope(to, toStart, content), timeoutMs);
    if (answer.cluster !== this.#options.cluster || answer.from !== to || answer.to !== this.name) {
      throw new Error(`The answer is not ${to}'s to ${this.name}.`);
    }
    if (answer.toStart !== this.#start) throw new Error("The answer is to an earlier start.");
    if (!WAITS.has(content.kind)) this.pace.answered(to, this.clock.monotonicMs() - sentMs);
    const wasRestarted = this.#restarts.get(to) !== restarts;
    // What it says counts nothing any more, nor has the present start lost anything by not knowing of it.
    if (wasRestarted && answer.start === toStart) return undefined;
    this.#meet(answer);
    // What an earlier start has said does not count once the present one was told what there is: it may have forgotten that.
    if (wasRestarted) return undefined;
    return toStart === answer.start || isOfNoStart(content) ? answer.content : undefined;
  }

  #envelope<Content>(to: string, toStart: string | undefined, content: Content): Envelope<Content> {
    const { cluster } = this.#options;
    const seen = this.#seen.get(to) ?? 0;
    return { cluster, from: this.name, to, start: this.#start, toStart, writes: this.#written, seen, content };
  }

  /** Takes in what every message tells of its sender, and of what that remembers of this one. */
  #meet({ from, start, writes, seen }: Envelope<unknown>): void {
    const known = this.#starts.get(from);
    if (known !== undefined && known !== start) this.#restarts.set(from, (this.#restarts.get(from) ?? 0) + 1);
    this.#starts.set(from, start);
    this.#seen.set(from, Math.max(this.#seen.get(from) ?? 0, writes));
    this.#remembered.set(from, Math.max(this.#remembered.get(from) ?? 0, seen));
    if (seen > this.#writes && !this.#admission.forgot) this.#lose();
  }

  /** Its file was older than what it has answered by. */
  #lose(): void {
    this.#admission.loses(this.clock.monotonicMs());
    const took = this.#takesPart;
    this.#takesPart = false;
    this.#writing = this.#writing.then(() => this.#options.disk.write("")).catch(() => undefined);
    if (took) void this.#join();
  }

  /** Somebody who is no server, and has the secret, may read and give orders, and has no vote. */
  async #answerObserver(content: Request): Promise<Answer> {
    const mayAsk = content.kind === "READ" || content.kind === "BREAK" || content.kind === "TRANSFER";
    return mayAsk ? await this.#answer(content, OBSERVER) : { kind: "SILENT" };
  }

  async #answer(request: Request, from: string): Promise<Answer> {
    if (request.kind === "TELL") return this.#told();
    if (request.kind === "PING") return this.#pong();
    if (!this.takesPart) return { kind: "SILENT" };
    const answer = await this.#judge(request, from);
    // Not for what other elections have changed: heartbeats would wait for votes.
    await this.#synced(this.#ballots.versionOf(request.election));
    return this.takesPart ? answer : { kind: "SILENT" };
  }

  async #judge(request: ElectionRequest, from: string): Promise<Answer> {
    const nowMs = this.clock.monotonicMs();
    const { election } = request;
    if (request.kind === "READ") {
      return { kind: "READ", sign: this.#ballots.sign(election, nowMs), absent: this.#peers.absent };
    }
    if (request.kind === "ELECT") return request.trial ? await this.#try(request, from) : this.#vote(request, from);
    const answer = this.#take(request, from, nowMs);
    if (answer.taken && (request.kind === "LEAD" || request.kind === "RELEASE")) this.#preVotes.ended(election);
    for (const watcher of this.#watchers) watcher(election);
    return answer;
  }

  #vote(elect: Elect, from: string): Vote {
    const vote = this.#ballots.elect(elect, this.clock.monotonicMs());
    if (vote.granted) this.#preVotes.voted(elect, from);
    return vote;
  }

  async #try(elect: Elect, from: string): Promise<Vote> {
    const { election } = elect;
    const nowMs = this.clock.monotonicMs();
    if (elect.claimMs === 0) this.#preVotes.withdrawn(election, from);
    const vote = this.#ballots.elect(elect, nowMs);
    if (!vote.granted || elect.claimMs === 0) return vote;
    const isGranted = await this.#preVotes.grants(elect, from, this.#ballots.sign(election, nowMs)?.term ?? 0);
    // It may have heard a leader meanwhile.
    const laterMs = this.clock.monotonicMs();
    if (isGranted) return this.#ballots.elect(elect, laterMs);
    return this.#ballots.vote(elect, false, laterMs);
  }

  #take(request: Lead | Release | Break | Transfer, from: string, nowMs: number): Acknowledgement {
    if (request.kind === "LEAD") return this.#ballots.lead(request, from, nowMs);
    if (request.kind === "RELEASE") return this.#ballots.release(request, from, nowMs);
    if (request.kind === "BREAK") return this.#ballots.break(request, nowMs);
    return this.#ballots.transfer(request, nowMs);
  }

  #told(): Told {
    const { kept, orders } = this.#ballots;
    const longestLeaseMs = this.#ballots.longestLeaseMs(this.clock.monotonicMs());
    const { floor, clockFloor, isFresh, elections } = kept;
    const terms = Object.fromEntries(Object.entries(elections).map(([name, { term }]) => [name, term]));
    const { forgot } = this.#admission;
    return { kind: "TELL", forgot, isFresh, floor, clockFloor, terms, orders, longestLeaseMs };
  }

  /** Resolves once all that this server had decided by then is on its disk. After a failure it is silent until a write succeeds. */
  async #synced(version: number): Promise<void> {
    while (!this.#isSilent && !this.#admission.forgot && this.#syncedVersion < version) {
      this.#writing = this.#isWriting ? this.#writing : this.#write();
      await this.#writing;
    }
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    try {
      const { version } = this.#ballots;
      this.#writes += 1;
      const writes = this.#writes;
      const sentMs = this.clock.monotonicMs();
      await this.#options.disk.write(textOf({ writes, seen: Object.fromEntries(this.#seen), ...this.#ballots.kept }));
      this.#syncedVersion = version;
      this.#written = writes;
      this.#isBroken = false;
      this.pace.synced(this.name, this.clock.monotonicMs() - sentMs);
    } catch {
      if (!this.#isBroken) void this.#writeAgain();
    } finally {
      this.#isWriting = false;
    }
  }

  /** Writes until that succeeds. Nothing was said that is not on the disk: the server is silent meanwhile. */
  async #writeAgain(): Promise<void> {
    this.#isBroken = true;
    while (this.#isBroken && !this.#closed.signal.aborted) {
      await sleep(this.clock, WRITE_AGAIN_MS, this.#closed.signal).catch(() => undefined);
      // One that has lost its file writes once it begins again.
      if (this.#admission.forgot) this.#isBroken = false;
      else if (!this.#closed.signal.aborted && !this.#isWriting) await (this.#writing = this.#write());
    }
  }

  /** Asks the others until it may take part. */
  async #join(): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted && !this.#takesPart) {
      await Promise.all(this.others.map((other) => this.#beTold(other)));
      if (await this.#mayTakePart()) return;
      this.#options.troubles?.lasts(this.name, `it takes no part yet, since ${this.#admission.waitsFor(this.others)}`);
      await sleep(this.clock, ASK_AGAIN_MS, signal).catch(() => undefined);
    }
  }

  /** Asks the others every few seconds whether they are there. */
  async #pingOthers(): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      await Promise.all(this.others.map((other) => this.#ping(other)));
      const text = membersText(this.members(), "servers");
      if (text === undefined) this.#options.troubles?.ends("members");
      else if (this.takesPart) this.#options.troubles?.lasts("members", text);
      const areAllThere = this.#peers.absent.length === 0;
      await sleep(this.clock, areAllThere ? PING_EVERY_MS : PING_ABSENT_EVERY_MS, signal).catch(() => undefined);
    }
  }

  async #ping(other: string): Promise<void> {
    const answer = await this.ask(other, { kind: "PING" }, TELL_TIMEOUT_MS).catch(() => undefined);
    this.#peers.heard(other, answer);
    if (answer?.kind !== "PING") return;
    this.pace.synced(other, answer.syncMs);
    this.#peers.told(answer.absent.filter(({ name }) => name !== this.name));
  }

  #pong(): Pong {
    const { takesPart } = this;
    return { kind: "PING", takesPart, syncMs: this.pace.syncMs(this.name), absent: this.#peers.absent };
  }

  #admit({ forgot, isMoved }: { readonly forgot: boolean; readonly isMoved?: boolean | undefined }): Admission {
    return new Admission({ servers: this.others.length + 1, startMs: this.clock.monotonicMs(), forgot, isMoved });
  }

  async #beTold(other: string): Promise<void> {
    const askedMs = this.clock.monotonicMs();
    try {
      const answer = await this.#send(other, { kind: "TELL" }, TELL_TIMEOUT_MS);
      if (answer?.kind !== "TELL") return;
      this.#admission.hears(other, answer, this.#remembered.get(other) ?? 0, askedMs);
    } catch {
      // It is asked again.
    }
  }

  async #mayTakePart(): Promise<boolean> {
    const nowMs = this.clock.monotonicMs();
    if (this.#admission.isIntact(this.#ballots.longestLeaseMs(nowMs), nowMs)) {
      const movedOn = this.#admission.movedOn(this.#ballots.kept);
      if (movedOn) await this.#beginWith(new Ballots(movedOn, nowMs));
      else this.#takesPart = true;
    }
    const beginning = this.#admission.forgot ? this.#admission.beginning(nowMs, this.clock.wallMs()) : undefined;
    if (beginning) {
      this.#writes = beginning.writes;
      await this.#beginWith(new Ballots(beginning.ballots, nowMs));
    }
    if (this.#takesPart) this.#options.onBegun?.();
    return this.#takesPart;
  }

  async #beginWith(ballots: Ballots): Promise<void> {
    const { version } = this.#ballots;
    this.#ballots = ballots;
    // A write of what was before may still be under way.
    this.#ballots.version = version + 1;
    this.#admission = this.#admit({ forgot: false });
    await this.#synced(this.#ballots.version);
    // It may have found meanwhile that it has lost more.
    this.#takesPart = !this.#admission.forgot;
  }
}

/** A request that any start of the receiver may answer. */
function isOfNoStart({ kind }: Request): boolean {
  return kind === "TELL" || kind === "PING";
}
