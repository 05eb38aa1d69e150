import { type Clock, type StoreMember, membersText, sleep } from "@leasehold/core/provider";
import { StartupRecovery, majorityOf } from "./startup-recovery.ts";
import { VoterState } from "./voter-state.ts";
import type { Disk } from "./disk.ts";
import { decodeStoredState, textOf } from "./voter-state-codec.ts";
import type {
  Acknowledgement,
  VoterReply,
  Break,
  Elect,
  ElectionRequest,
  Envelope,
  Lead,
  Pong,
  Release,
  Request,
  StateReply,
  Transfer,
  Vote,
} from "./messages.ts";
import type { Transport } from "./transport.ts";
import { OBSERVER } from "./messages.ts";
import { Pace } from "./pace.ts";
import { Peers, TAKES_NO_PART } from "./peers.ts";
import { PreVotes } from "./pre-votes.ts";
import type { WarningLog } from "./warning-log.ts";

/** The wait before a server that takes no part yet asks the others again. And the time that each has to answer. */
const ASK_AGAIN_MS = 250;
const TELL_TIMEOUT_MS = 1_000;
/** The wait before a failed write is repeated. The server is silent meanwhile. */
const WRITE_AGAIN_MS = 1_000;
const PING_EVERY_MS = 10_000;
const PING_ABSENT_EVERY_MS = 2_000;
/** The requests whose answers are held, or wait for a sync. Their times do not measure the round trip. */
const WAITS: ReadonlySet<Request["kind"]> = new Set(["ELECT", "RELEASE", "BREAK", "TRANSFER"]);
const NOTHING = { floor: 0, clockFloor: 0, isFresh: false, elections: {} };

export interface ServerOptions {
  readonly name: string;
  /** The names of all servers, in any order. */
  readonly names: readonly string[];
  /** A hash of the names of all servers; see `clusterOf`. */
  readonly cluster: string;
  readonly clock: Clock;
  readonly disk: Disk;
  readonly transport: Transport;
  /** The server has not taken part with this list yet. The state on its disk may be from another list. */
  readonly isMoved?: boolean | undefined;
  /** Called once the server takes part with this list. All that it needs for that is on its disk by then. */
  readonly onBegun?: (() => void) | undefined;
  /** Receives warnings for a person. */
  readonly troubles?: Pick<WarningLog, "tell" | "lasts" | "ends"> | undefined;
}

/**
 * One server. It votes by the rules of {@link VoterState}, and asks the other servers. It answers once its changes are on its disk.
 */
export class Server {
  readonly name: string;
  readonly others: readonly string[];
  readonly majority: number;
  readonly clock: Clock;
  readonly #options: ServerOptions;
  readonly #start: string;
  /** The latest known start of each other server, and how often that start has changed. */
  readonly #starts = new Map<string, string>();
  readonly #restarts = new Map<string, number>();
  /** The highest write counter heard from each other server. And the highest counter of this server that each of them knows. */
  readonly #seen = new Map<string, number>();
  readonly #remembered = new Map<string, number>();
  readonly #watchers = new Set<(election: string) => void>();
  readonly #closed = new AbortController();
  /** The times that round trips and syncs take. */
  readonly pace: Pace;
  readonly #preVotes: PreVotes;
  readonly #peers: Peers;
  #ballots: VoterState;
  #admission: StartupRecovery;
  /** The server may take part, as {@link StartupRecovery} has decided. */
  #takesPart = false;
  /** The counter of the latest write that has begun, and of the latest write that is certainly on the disk. */
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
    this.pace = new Pace(clock);
    this.#start = clock.randomUuid();
    this.#ballots = new VoterState(NOTHING, clock.monotonicMs());
    this.#admission = this.#admit({ forgot: true });
    this.#preVotes = new PreVotes(clock);
    this.#peers = new Peers(clock);
  }

  /** Reads the disk and begins to listen. The server takes part as soon as it may; this does not wait for that. */
  async start(): Promise<void> {
    const kept = decodeStoredState(await this.#options.disk.read());
    this.#ballots = new VoterState(kept ?? NOTHING, this.clock.monotonicMs());
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

  /** The state of all servers, as this one knows it. */
  members(): readonly StoreMember[] {
    const counts = this.takesPart;
    const own = { name: this.name, store: "voting", counts, forMs: 0, waitsFor: counts ? undefined : TAKES_NO_PART };
    return [own, ...this.others.map((other) => this.#peers.member(other))];
  }

  /** The server is silent after a failed write until a write succeeds. It is silent for good once it is closed. */
  get #isSilent(): boolean {
    return this.#isBroken || this.#closed.signal.aborted;
  }

  get ballots(): VoterState {
    return this.#ballots;
  }

  /** Calls `watcher` whenever a LEAD, a RELEASE or an order of some election has arrived. Returns a function that ends this. */
  onSign(watcher: (election: string) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** See {@link Electorate.ask}. */
  async ask(to: string, request: Request, timeoutMs: number, isOver?: () => boolean): Promise<VoterReply> {
    if (this.#closed.signal.aborted) throw new Error("This server is closed.");
    if (to === this.name) return await this.#answer(request, this.name);
    const answer = await this.#send(to, request, timeoutMs);
    if (answer) return answer;
    // The server was started again meanwhile, and its present start is known now.
    if (isOver?.()) throw new Error(`${to} was started again, and ${request.kind} is not sent again.`);
    const again = await this.#send(to, request, timeoutMs);
    if (again) return again;
    throw new Error(`${to} was started again and again.`);
  }

  /**
   * Persists the highest write counter heard from each server. This server relies on a vote, a hold or an order that another one
   * has written. By the counter it recognises an older file of the other one, also after a start.
   */
  async remember(): Promise<void> {
    this.#ballots.version += 1;
    await this.#synced(this.#ballots.version);
  }

  /** Returns the answer to another server's message; undefined if the message is not for this server. */
  async receive(message: Envelope<Request>): Promise<Envelope<VoterReply> | undefined> {
    const { cluster, from, to, start, toStart, content } = message;
    if (from === OBSERVER) return this.#envelope(OBSERVER, start, await this.#answerObserver(content));
    if (cluster !== this.#options.cluster || to !== this.name || !this.others.includes(from)) return undefined;
    this.#meet(message);
    if (toStart !== undefined && toStart !== this.#start) return this.#envelope(from, start, { kind: "SILENT" });
    // A request that names no start of the receiver may be older than this start. Its sender only learns the present start.
    if (toStart === undefined && !isOfNoStart(content)) return this.#envelope(from, start, { kind: "SILENT" });
    return this.#envelope(from, start, await this.#answer(content, from));
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#options.transport.close();
    await this.#writing.catch(() => undefined);
  }

  /** Resolves with undefined if the receiver was started again, before the request arrived or while it was under way. */
  async #send(to: string, content: Request, timeoutMs: number): Promise<VoterReply | undefined> {
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
    // The answer of an earlier start does not count. Its write counter is not recorded either, because the present start has lost
    // nothing by not knowing of that write.
    if (wasRestarted && answer.start === toStart) return undefined;
    this.#meet(answer);
    // The receiver was started again meanwhile. The answer does not count, because the present start may have forgotten it.
    if (wasRestarted) return undefined;
    return toStart === answer.start || isOfNoStart(content) ? answer.content : undefined;
  }

  #envelope<Content>(to: string, toStart: string | undefined, content: Content): Envelope<Content> {
    const { cluster } = this.#options;
    const seen = this.#seen.get(to) ?? 0;
    return { cluster, from: this.name, to, start: this.#start, toStart, writes: this.#written, seen, content };
  }

  /** Records what a message says about its sender, and what the sender remembers of this server. */
  #meet({ from, start, writes, seen }: Envelope<unknown>): void {
    const known = this.#starts.get(from);
    if (known !== undefined && known !== start) this.#restarts.set(from, (this.#restarts.get(from) ?? 0) + 1);
    this.#starts.set(from, start);
    this.#seen.set(from, Math.max(this.#seen.get(from) ?? 0, writes));
    this.#remembered.set(from, Math.max(this.#remembered.get(from) ?? 0, seen));
    if (seen > this.#writes && !this.#admission.forgot) this.#lose();
  }

  /** Gives the file up, because another server remembers a later write than the file has. */
  #lose(): void {
    this.#admission.loses(this.clock.monotonicMs());
    const took = this.#takesPart;
    this.#takesPart = false;
    this.#writing = this.#writing.then(() => this.#options.disk.write("")).catch(() => undefined);
    if (took) void this.#join();
  }

  /** An observer has the secret and is not a server. It may read and give orders, and has no vote. */
  async #answerObserver(content: Request): Promise<VoterReply> {
    const mayAsk = content.kind === "READ" || content.kind === "BREAK" || content.kind === "TRANSFER";
    return mayAsk ? await this.#answer(content, OBSERVER) : { kind: "SILENT" };
  }

  async #answer(request: Request, from: string): Promise<VoterReply> {
    if (request.kind === "TELL") return this.#told();
    if (request.kind === "PING") return this.#pong();
    if (!this.takesPart) return { kind: "SILENT" };
    const answer = await this.#judge(request, from);
    // Wait for changes of this election only; otherwise heartbeats would wait for votes of other elections.
    await this.#synced(this.#ballots.versionOf(request.election));
    return this.takesPart ? answer : { kind: "SILENT" };
  }

  async #judge(request: ElectionRequest, from: string): Promise<VoterReply> {
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
    // A LEAD may have arrived during the hold.
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

  #told(): StateReply {
    const { kept } = this.#ballots;
    const longestLeaseMs = this.#ballots.longestLeaseMs(this.clock.monotonicMs());
    const { floor, clockFloor, isFresh, elections } = kept;
    const terms = Object.fromEntries(Object.entries(elections).map(([name, { term }]) => [name, term]));
    const { forgot } = this.#admission;
    return { kind: "TELL", forgot, isFresh, floor, clockFloor, terms, longestLeaseMs };
  }

  /** Resolves once all changes up to `version` are on the disk. Also resolves if the server is silent, or has lost its state. */
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

  /** Repeats the write until it succeeds. The server is silent meanwhile, because it answers only by what is on the disk. */
  async #writeAgain(): Promise<void> {
    this.#isBroken = true;
    while (this.#isBroken && !this.#closed.signal.aborted) {
      await sleep(this.clock, WRITE_AGAIN_MS, this.#closed.signal).catch(() => undefined);
      // A server that has lost its file writes when it begins again.
      if (this.#admission.forgot) this.#isBroken = false;
      else if (!this.#closed.signal.aborted && !this.#isWriting) await (this.#writing = this.#write());
    }
  }

  /** Asks the others for their state until this server may take part. */
  async #join(): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted && !this.#takesPart) {
      await Promise.all(this.others.map((other) => this.#beTold(other)));
      if (await this.#mayTakePart()) return;
      this.#options.troubles?.lasts(this.name, `it takes no part yet, since ${this.#admission.waitsFor(this.others)}`);
      await sleep(this.clock, ASK_AGAIN_MS, signal).catch(() => undefined);
    }
  }

  /** Asks the others every few seconds whether they answer and take part. */
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

  #admit({ forgot, isMoved }: { readonly forgot: boolean; readonly isMoved?: boolean | undefined }): StartupRecovery {
    return new StartupRecovery({ servers: this.others.length + 1, startMs: this.clock.monotonicMs(), forgot, isMoved });
  }

  async #beTold(other: string): Promise<void> {
    const askedMs = this.clock.monotonicMs();
    try {
      const answer = await this.#send(other, { kind: "TELL" }, TELL_TIMEOUT_MS);
      if (answer?.kind !== "TELL") return;
      this.#admission.hears(other, answer, this.#remembered.get(other) ?? 0, askedMs);
    } catch {
      // The next round asks it again.
    }
  }

  async #mayTakePart(): Promise<boolean> {
    const nowMs = this.clock.monotonicMs();
    if (this.#admission.isIntact(this.#ballots.longestLeaseMs(nowMs), nowMs)) {
      const movedOn = this.#admission.movedOn(this.#ballots.kept);
      if (movedOn) await this.#beginWith(new VoterState(movedOn, nowMs));
      else this.#takesPart = true;
    }
    const beginning = this.#admission.forgot ? this.#admission.beginning(nowMs, this.clock.wallMs()) : undefined;
    if (beginning) {
      this.#writes = beginning.writes;
      await this.#beginWith(new VoterState(beginning.ballots, nowMs));
    }
    if (this.#takesPart) this.#options.onBegun?.();
    return this.#takesPart;
  }

  async #beginWith(ballots: VoterState): Promise<void> {
    const { version } = this.#ballots;
    this.#ballots = ballots;
    // A write of the former state may still be under way, and must not count for the new state.
    this.#ballots.version = version + 1;
    this.#admission = this.#admit({ forgot: false });
    await this.#synced(this.#ballots.version);
    // A message may have shown meanwhile that this server has lost more.
    this.#takesPart = !this.#admission.forgot;
  }
}

/** Reports whether any start of the receiver may answer the request. */
function isOfNoStart({ kind }: Request): boolean {
  return kind === "TELL" || kind === "PING";
}
