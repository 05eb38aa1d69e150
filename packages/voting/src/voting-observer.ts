import {
  ConfigurationError,
  UnsupportedError,
  type LeaseSnapshot,
  type LeaseStore,
  type LeaseStoreCapabilities,
} from "@leasehold/core";
import {
  type ReadOptions,
  systemClock,
  type Clock,
  type StoreMember,
  StoreWarnings,
  checkName,
  DEFAULT_REQUEST_TIMEOUT_MS,
} from "@leasehold/core/provider";
import { AdministeredStore } from "./administered-store.ts";
import { sightedBy } from "./administration.ts";
import { majorityOf } from "./startup-recovery.ts";
import { CAPABILITIES } from "./capabilities.ts";
import { readAgain, type Authority } from "./certificates.ts";
import { HttpClient } from "./http-client.ts";
import { OBSERVER, type VoterReply, type Request } from "./messages.ts";
import { checkAddress, checkSecret } from "./options.ts";
import { bareHeader, PacketClient } from "./packet-client.ts";
import { Seal, type Secret } from "./packet.ts";
import { Peers } from "./peers.ts";
import type { Electorate } from "./poll.ts";

export interface VotingObserverOptions {
  /** The addresses of all servers, such as `http://10.0.0.1:7400`, in any order. */
  readonly servers: readonly string[];
  /** The secret of the servers. Of several, the first signs, and all are accepted. */
  readonly secret: Secret;
  /**
   * The authority that has issued the servers' certificates, as PEM. A function is called before the first request, which waits
   * for it. Later it is called again at most once a minute, and no request waits for that. New connections use its last result.
   * @defaultValue those that Node trusts
   */
  readonly ca?: Authority | (() => Authority | Promise<Authority>);
  /** @defaultValue the system's clock */
  readonly clock?: Clock | undefined;
}

/**
 * For processes that are not servers. Reports the leader that a majority of the servers confirms; breaks and transfers terms. It
 * has no vote, and is not a candidate.
 *
 * @throws {ConfigurationError} for options that cannot work. Nothing is sent.
 *
 * @example
 * ```ts
 * const store = new VotingObserver({ servers: ["http://10.0.0.1:7400", "http://10.0.0.2:7400", "http://10.0.0.3:7400"], secret });
 * console.log(await store.read("nightly-billing"));
 * ```
 */
export class VotingObserver extends AdministeredStore implements LeaseStore {
  readonly capabilities: LeaseStoreCapabilities = { ...CAPABILITIES, watch: "poll" };
  readonly warnings: StoreWarnings;
  /** Each of these rejects with an {@link UnsupportedError}: only a server is a candidate. */
  readonly acquire: () => Promise<never> = notHere;
  readonly renew: () => Promise<never> = notHere;
  readonly publish: () => Promise<never> = notHere;
  readonly release: () => Promise<never> = notHere;
  readonly #client: ObserverClient;
  readonly #http: HttpClient;

  constructor({ servers, secret, ca, clock = systemClock }: VotingObserverOptions) {
    checkSecret(secret);
    const given: unknown = servers;
    if (!Array.isArray(given) || given.length === 0)
      throw new ConfigurationError("servers must have the address of every server.");
    const urls = new Map(servers.map((address, index) => [address, checkAddress(`server number ${index + 1}`, address)]));
    if (urls.size < servers.length) throw new ConfigurationError("servers has an address twice.");
    const http = new HttpClient();
    const warnings = new StoreWarnings();
    const stays = "The authority of the servers cannot be read again, so the last one stays in use";
    const trust = readAgain<Authority>({
      clock,
      read: typeof ca === "function" ? ca : () => ca,
      use: (authority) => http.trust(authority),
      failed: (reason) => warnings.warn("LEASEHOLD_VOTING", `${stays}: ${reason}`),
      hasFirst: false,
    });
    const client = new ObserverClient(urls, new PacketClient({ clock, seal: new Seal(secret), http, servers: [] }), clock, trust);
    // So `check` rejects also if a majority answers.
    super(client, notHere);
    this.warnings = warnings;
    this.#client = client;
    this.#http = http;
  }

  /** The state of all servers, by their last answers. */
  members(): readonly StoreMember[] {
    return this.#client.members();
  }

  /** Reports `unknown` if only a minority of the servers knows the latest term: an election may be under way. */
  override async read(
    election: string,
    { timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, signal }: ReadOptions = {},
  ): Promise<LeaseSnapshot | undefined> {
    checkName("election", election);
    const { signs, snapshot } = await sightedBy(this.#client, election, { timeoutMs, signal });
    if (!snapshot || signs.length >= this.#client.majority) return snapshot;
    return { election, state: "unknown", term: snapshot.term };
  }

  nextLookMs(_election: string, retryPeriodMs: number): number {
    return retryPeriodMs;
  }

  /** Closes its connections. */
  close(): Promise<void> {
    return Promise.resolve(this.#http.close());
  }
}

function notHere(): Promise<never> {
  return Promise.reject(
    new UnsupportedError(
      "This process is no server, and only servers are candidates: it can read who leads, and break or transfer a term.",
    ),
  );
}

/** Asks all servers, by their addresses, for an observer. */
class ObserverClient implements Electorate {
  readonly name: string = OBSERVER;
  readonly everyone: readonly string[];
  readonly majority: number;
  readonly clock: Clock;
  readonly #urls: ReadonlyMap<string, URL>;
  readonly #client: PacketClient;
  readonly #start: string;
  /** The server, and its start, that has answered at each address. */
  readonly #found = new Map<string, { readonly name: string; readonly start: string }>();
  readonly #trust: (signal: AbortSignal) => Promise<void>;
  readonly #peers: Peers;

  /** @param trust makes the client trust the servers' authority. Rejects when the signal aborts. */
  constructor(urls: ReadonlyMap<string, URL>, client: PacketClient, clock: Clock, trust: (signal: AbortSignal) => Promise<void>) {
    this.everyone = [...urls.keys()];
    this.majority = majorityOf(urls.size);
    this.clock = clock;
    this.#urls = urls;
    this.#client = client;
    this.#trust = trust;
    this.#start = clock.randomUuid();
    this.#peers = new Peers(clock);
  }

  /** The state of all servers. A server that has never answered has the name that another one reports, or else its address. */
  members(): readonly StoreMember[] {
    const names = new Set([...this.#found.values(), ...this.#peers.absent].map(({ name }) => name));
    const unheard = [...this.#urls.keys()].filter((address) => !this.#found.has(address));
    return [...names, ...unheard].slice(0, this.#urls.size).map((name) => this.#peers.member(name));
  }

  async ask(address: string, request: Request, timeoutMs: number): Promise<VoterReply> {
    const url = this.#urls.get(address) as URL;
    const { name: to = "", start: toStart } = this.#found.get(address) ?? {};
    const header = bareHeader({ cluster: "", from: OBSERVER, to, start: this.#start, toStart });
    const { from, start, servers, refused, contents } = await this.#client.within(timeoutMs, async (signal) => {
      await this.#trust(signal);
      return await this.#client.post("the server", url, header, [request], signal);
    });
    this.#check(address, from, start, servers);
    if (refused) throw new Error(`${from} was started again, or has taken this order before: look again.`);
    const answer = contents[0] ?? { kind: "SILENT" };
    this.#peers.heard(from, answer);
    if (answer.kind === "READ") this.#peers.told(answer.absent);
    return answer;
  }

  /** Does nothing: an observer has no disk. */
  remember(): Promise<void> {
    return Promise.resolve();
  }

  /**
   * Checks that the addresses name every server exactly once. Otherwise a majority of addresses might not be a majority of servers.
   */
  #check(address: string, name: string, start: string, servers: readonly string[]): void {
    if (servers.length !== this.#urls.size) {
      const names = servers.join(", ");
      throw new ConfigurationError(`${this.#urls.size} addresses are given, and there are ${servers.length} servers: ${names}.`);
    }
    this.#found.set(address, { name, start });
    const twice = [...this.#found].find(([other, found]) => other !== address && found.name === name);
    if (twice)
      throw new ConfigurationError(`The server '${name}' answers at ${twice[0]} and at ${address}: give each server's own.`);
  }
}
