import { type Clock, type StoreMember, membersText, sleep } from "@leasehold/core/provider";
import {
  OBSERVER,
  type Elect,
  type ElectionRequest,
  type Envelope,
  type Request,
  type Vote,
  type VoterReply,
} from "./messages.ts";
import { Pace } from "./pace.ts";
import { PeerLinks, type Transport } from "./peer-links.ts";
import { DISK_HANGS, Peers, TAKES_NO_PART } from "./peers.ts";
import { PreVotes } from "./pre-votes.ts";
import { StartupRecovery, majorityOf, stateReplyOf } from "./startup-recovery.ts";
import { StateRequests } from "./state-requests.ts";
import { StateWriter, type Disk } from "./state-writer.ts";
import { VoterState } from "./voter-state.ts";
import type { WarningLog } from "./warning-log.ts";

/** The wait of a server that takes no part yet, before it checks again whether it may. */
const CHECK_AGAIN_MS = 250;
/** The time limit of a ping. */
const ANSWER_MS = 1_000;
/**
 * The time limit of a ping to an absent server. The ping may open a connection, which takes up to three round trips more. If the
 * limit ends first, that connection is closed. Otherwise all later requests use it.
 */
const CONNECT_MS = 3_000;
const PING_EVERY_MS = 10_000;
const PING_ABSENT_EVERY_MS = 2_000;
const SILENT = { kind: "SILENT" } as const;
/** The requests that an observer may send. The reply to a TELL has the names of the elections. */
const OBSERVERS_MAY: ReadonlySet<Request["kind"]> = new Set(["READ", "TELL", "BREAK", "TRANSFER"]);
const NOTHING = { floor: 0, clockFloor: 0, isFresh: false, elections: {} };

export interface ServerOptions {
  readonly name: string;
  /** The names of all servers, in any order. */
  readonly names: readonly string[];
  readonly clock: Clock;
  readonly disk: Disk;
  readonly transport: Transport;
  /** The server has not taken part with this list yet. The state on its disk may be from another list. */
  readonly isMoved?: boolean | undefined;
  /** Called once the server takes part with this list. All that it needs for that is on its disk by then. */
  readonly onBegun?: (() => void) | undefined;
  readonly troubles?: Pick<WarningLog, "tell" | "lasts" | "ends"> | undefined;
}

/**
 * One server: the driver of a {@link VoterState}. It passes each request to the voter, writes the changes to the disk, and then
 * answers. After a start it asks the other servers, until {@link StartupRecovery} lets it take part.
 */
export class Server {
  readonly name: string;
  readonly others: readonly string[];
  readonly majority: number;
  readonly clock: Clock;
  readonly #options: ServerOptions;
  readonly #watchers = new Set<(election: string) => void>();
  readonly #closed = new AbortController();
  /** The times that round trips and syncs take. */
  readonly pace: Pace;
  readonly #preVotes: PreVotes;
  readonly #peers: Peers;
  readonly #links: PeerLinks;
  readonly #writer: StateWriter;
  #ballots: VoterState;
  #recovery: StartupRecovery;
  #mayTakePart = false;
  readonly #stateRequests: StateRequests;

  constructor(options: ServerOptions) {
    const { name, names, clock, transport, disk } = options;
    this.#options = options;
    this.name = name;
    this.others = names.filter((other) => other !== name);
    this.majority = majorityOf(names.length);
    this.clock = clock;
    this.pace = new Pace(clock);
    this.#ballots = new VoterState(NOTHING, clock.monotonicMs());
    this.#recovery = this.#recover({ forgot: true });
    this.#preVotes = new PreVotes();
    this.#peers = new Peers(clock);
    this.#links = new PeerLinks({
      ...{ name, others: this.others, clock, transport, pace: this.pace },
      written: () => this.#writer.written,
      onRemembered: (writes) => this.#checkFile(writes),
      onStarted: (other) => void (this.#mayTakePart || this.#stateRequests.hasStarted(other)),
    });
    this.#stateRequests = new StateRequests(clock, (other, timeoutMs) => this.#beTold(other, timeoutMs));
    this.#writer = new StateWriter({
      ...{ disk, clock, closed: this.#closed.signal },
      state: () => ({ voter: this.#ballots, seen: this.#links.seen }),
      isLost: () => this.#recovery.forgot,
      onSynced: (tookMs) => this.pace.synced(name, tookMs),
    });
  }

  /** Reads the disk and begins to listen. The server takes part as soon as it may; this does not wait for that. */
  async start(): Promise<void> {
    const kept = await this.#writer.read();
    this.#ballots = new VoterState(kept ?? NOTHING, this.clock.monotonicMs());
    for (const [server, writes] of Object.entries(kept?.seen ?? {})) this.#links.seen.set(server, writes);
    this.#recovery = this.#recover({ forgot: kept === undefined, isMoved: this.#options.isMoved });
    await this.#options.transport.listen((message) => this.receive(message), this.#links.start);
    void this.#join();
    void this.#pingOthers();
  }

  /** All servers, this one first. */
  get everyone(): readonly string[] {
    return [this.name, ...this.others];
  }

  /** A server is silent after a failed write until a write succeeds, and for good once it is closed. */
  get takesPart(): boolean {
    return this.#mayTakePart && this.#works;
  }

  /** The last write has failed, or does not end. So a claim of this server would fail at its own vote. */
  get hasLostDisk(): boolean {
    return this.#writer.isBroken || this.#writer.hangs;
  }

  get #works(): boolean {
    return !this.#writer.isBroken && !this.#closed.signal.aborted;
  }

  /** A server that was started may take part in some elections before it may in all. */
  takesPartIn(election: string): boolean {
    if (this.#mayTakePart) return this.takesPart;
    const nowMs = this.clock.monotonicMs();
    return this.#works && this.#recovery.isIntactIn(election, this.#ballots.leases(nowMs), nowMs);
  }

  /**
   * The reason why this server does not count; undefined if it counts. This is for persons: a server whose disk hangs still answers
   * heartbeats.
   */
  get #why(): string | undefined {
    if (this.#writer.hangs) return DISK_HANGS;
    return this.takesPart ? undefined : TAKES_NO_PART;
  }

  /** The state of all servers, as this one knows it. */
  members(): readonly StoreMember[] {
    const why = this.#why;
    const own = { name: this.name, store: "voting", counts: why === undefined, forMs: 0, waitsFor: why };
    return [own, ...this.others.map((other) => this.#peers.member(other))];
  }

  get ballots(): VoterState {
    return this.#ballots;
  }

  /** Calls `watcher` for each LEAD, RELEASE and order that arrives, and by {@link wake}. Returns a function that ends this. */
  onSign(watcher: (election: string) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  wake(election: string): void {
    for (const watcher of this.#watchers) watcher(election);
  }

  /** See {@link Electorate.ask}. */
  async ask(to: string, request: Request, timeoutMs: number, isOver?: () => boolean): Promise<VoterReply> {
    if (this.#closed.signal.aborted) throw new Error("This server is closed.");
    if (to === this.name) return await this.#answer(request, this.name);
    return await this.#links.ask(to, request, timeoutMs, isOver);
  }

  /**
   * See {@link Electorate.remember}. This server relies on what another one has written. By the counter it recognises an older
   * file of the other one, also after a start.
   */
  async remember(): Promise<void> {
    this.#ballots.version += 1;
    await this.#writer.synced(this.#ballots.version);
  }

  /** Returns the answer to another server's message; undefined if the message is not for this server. */
  async receive(message: Envelope<Request>): Promise<Envelope<VoterReply> | undefined> {
    const { from, start, content } = message;
    const links = this.#links;
    if (from === OBSERVER) {
      const answer = OBSERVERS_MAY.has(content.kind) ? await this.#answer(content, OBSERVER) : SILENT;
      return links.envelope(OBSERVER, start, answer);
    }
    if (!links.isToThisServer(message)) return undefined;
    links.meet(message);
    if (!links.isToThisStart(message)) return links.envelope(from, start, SILENT);
    return links.envelope(from, start, await this.#answer(content, from));
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#options.transport.close();
    await this.#writer.settled();
  }

  /** Gives the file up if another server remembers a later write than the file has. */
  #checkFile(remembered: number): void {
    if (remembered <= this.#writer.begun || this.#recovery.forgot) return;
    this.#recovery.loses(this.clock.monotonicMs());
    const took = this.#mayTakePart;
    this.#mayTakePart = false;
    this.#writer.erase();
    if (took) void this.#join();
  }

  async #answer(request: Request, from: string): Promise<VoterReply> {
    if (request.kind === "TELL") {
      const { takesPart } = this;
      const nowMs = this.clock.monotonicMs();
      const leases = this.#ballots.leases(nowMs);
      const isIn = (election: string): boolean => this.#works && this.#recovery.isIntactIn(election, leases, nowMs);
      const takesPartIn = takesPart ? undefined : Object.keys(leases).filter(isIn);
      return stateReplyOf(this.#ballots.kept, { forgot: this.#recovery.forgot, takesPart, takesPartIn }, leases);
    }
    if (request.kind === "PING") {
      const why = this.#why;
      const syncMs = this.pace.syncMs(this.name);
      return { kind: "PING", takesPart: why === undefined, why, syncMs, absent: this.#peers.absent };
    }
    if (!this.takesPartIn(request.election)) return SILENT;
    const answer = await this.#judge(request, from);
    // Wait for changes of this election only; otherwise heartbeats would wait for votes of other elections.
    await this.#writer.synced(this.#ballots.versionOf(request.election));
    return this.takesPartIn(request.election) ? answer : SILENT;
  }

  async #judge(request: ElectionRequest, from: string): Promise<VoterReply> {
    const nowMs = this.clock.monotonicMs();
    const { election } = request;
    if (request.kind === "READ") {
      return { kind: "READ", sign: this.#ballots.sign(election, nowMs), absent: this.#peers.absent };
    }
    if (request.kind === "ELECT") return request.trial ? await this.#try(request, from, nowMs) : this.#vote(request, from, nowMs);
    const answer = this.#ballots.take(request, from, nowMs);
    if (answer.taken && (request.kind === "LEAD" || request.kind === "RELEASE")) this.#preVotes.ended(election);
    this.wake(election);
    return answer;
  }

  #vote(elect: Elect, from: string, nowMs: number): Vote {
    const vote = this.#ballots.elect(elect, nowMs);
    if (vote.granted) this.#preVotes.voted(elect, from, nowMs);
    return vote;
  }

  async #try(elect: Elect, from: string, nowMs: number): Promise<Vote> {
    const { election } = elect;
    if (elect.claimMs === 0) this.#preVotes.ended(election, from);
    const vote = this.#ballots.elect(elect, nowMs);
    if (!vote.granted || elect.claimMs === 0) return vote;
    const choice = this.#preVotes.hold(elect, from, this.#ballots.sign(election, nowMs)?.term ?? 0, nowMs);
    if (choice && choice.untilMs > nowMs) await sleep(this.clock, choice.untilMs - nowMs);
    // A LEAD may have arrived during the hold.
    const laterMs = this.clock.monotonicMs();
    if (choice && this.#preVotes.grants(choice, elect, laterMs)) return this.#ballots.elect(elect, laterMs);
    return this.#ballots.vote(elect, false, laterMs);
  }

  /** Asks the others for their state until this server may take part. */
  async #join(): Promise<void> {
    const begun = new AbortController();
    const signal = AbortSignal.any([this.#closed.signal, begun.signal]);
    await Promise.all(this.others.map((other) => this.#stateRequests.begin(other, signal)));
    this.#recovery.hasAsked = true;
    while (!signal.aborted && !(await this.#begins())) {
      this.#options.troubles?.lasts(this.name, `it takes no part yet, since ${this.#recovery.waitsFor(this.others)}`);
      await sleep(this.clock, CHECK_AGAIN_MS, signal).catch(() => undefined);
    }
    begun.abort();
  }

  /** Asks the others every few seconds whether they answer and take part. */
  async #pingOthers(): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      await Promise.all(this.others.map((other) => this.#ping(other)));
      if (this.#writer.hangs)
        this.#options.troubles?.tell("its disk does not end a write: this server cannot vote until it does.");
      const text = membersText(this.members(), "servers");
      if (text === undefined) this.#options.troubles?.ends("members");
      else if (this.takesPart) this.#options.troubles?.lasts("members", text);
      const areAllThere = this.#peers.absent.length === 0;
      await sleep(this.clock, areAllThere ? PING_EVERY_MS : PING_ABSENT_EVERY_MS, signal).catch(() => undefined);
    }
  }

  async #ping(other: string): Promise<void> {
    const isAbsent = this.#peers.absent.some(({ name }) => name === other);
    const answer = await this.ask(other, { kind: "PING" }, isAbsent ? CONNECT_MS : ANSWER_MS).catch(() => undefined);
    this.#peers.heard(other, answer);
    if (answer?.kind !== "PING") return;
    this.pace.synced(other, answer.syncMs);
    this.#peers.told(answer.absent.filter(({ name }) => this.others.includes(name)));
  }

  #recover({ forgot, isMoved }: { readonly forgot: boolean; readonly isMoved?: boolean | undefined }): StartupRecovery {
    return new StartupRecovery({ servers: this.others.length + 1, startMs: this.clock.monotonicMs(), forgot, isMoved });
  }

  /** Asks another server for its state. */
  async #beTold(other: string, timeoutMs: number): Promise<void> {
    const askedMs = this.clock.monotonicMs();
    const answer = await this.#links.send(other, { kind: "TELL" }, timeoutMs).catch(() => undefined);
    if (answer?.kind === "TELL") this.#recovery.hears(other, answer, this.#links.rememberedBy(other), askedMs);
  }

  /** Takes part if {@link StartupRecovery} lets it, and reports whether it does. */
  async #begins(): Promise<boolean> {
    const nowMs = this.clock.monotonicMs();
    if (this.#recovery.isIntact(this.#ballots.leases(nowMs), nowMs)) {
      const movedOn = this.#recovery.movedOn(this.#ballots.kept);
      if (movedOn) await this.#beginWith(new VoterState(movedOn, nowMs));
      else this.#mayTakePart = true;
    }
    const beginning = this.#recovery.forgot ? this.#recovery.beginning(nowMs, this.clock.wallMs()) : undefined;
    if (beginning) {
      this.#writer.goOnFrom(beginning.writes);
      await this.#beginWith(new VoterState(beginning.ballots, nowMs));
    }
    if (this.#mayTakePart) this.#options.onBegun?.();
    return this.#mayTakePart;
  }

  async #beginWith(ballots: VoterState): Promise<void> {
    const { version } = this.#ballots;
    this.#ballots = ballots;
    // A write of the former state may still be under way, and must not count for the new state.
    this.#ballots.version = version + 1;
    this.#recovery = this.#recover({ forgot: false });
    await this.#writer.synced(this.#ballots.version);
    // A message may have shown meanwhile that this server has lost more.
    this.#mayTakePart = !this.#recovery.forgot;
  }
}
