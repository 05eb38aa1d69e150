import { request, type IncomingHttpHeaders, type RequestOptions } from "node:http";
import { text } from "node:stream/consumers";
import { Elector, type ElectorOptions, type LeaseStore } from "@leasehold/core";
import type { VirtualClock } from "@leasehold/core/testing";
import { ServedElector } from "../src/serve/candidate.ts";
import type { HttpAddress } from "../src/http/http-address.ts";
import type { HttpServer } from "../src/http/http-server.ts";
import { startHttp } from "../src/serve/http-server.ts";

export const TOKEN = "token-of-this-test";
export const ELECTION = "nightly";

export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly json: unknown;
}

/** A sidecar in this process, with electors in virtual time and a real server on a port of its own. */
export class Sidecar implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly candidates: readonly ServedElector[];
  readonly checkpoints: string[] = [];
  readonly #stop = new AbortController();
  readonly #runs: Array<Promise<void>> = [];
  #server: HttpServer | undefined;

  constructor(
    id: string,
    store: LeaseStore,
    clock: VirtualClock,
    elections: readonly string[] = [ELECTION],
    options: Partial<ElectorOptions> = {},
  ) {
    this.clock = clock;
    this.candidates = elections.map(
      (election) => new ServedElector(new Elector({ ...options, store, election, candidateId: id, clock, logger: false }), clock),
    );
  }

  get url(): string {
    if (!this.#server) throw new Error("The sidecar does not listen yet.");
    return this.#server.url;
  }

  /** Starts to listen and to campaign. */
  async start(address: HttpAddress = { kind: "tcp", host: "127.0.0.1", port: 0 }, work = untilEnded): Promise<this> {
    const served = {
      candidates: this.candidates,
      isStopping: () => this.#stop.signal.aborted,
      checkpoint: (election: string) => void this.checkpoints.push(election),
    };
    this.#server = await startHttp({ address, served, rules: { hosts: [], token: TOKEN }, clock: this.clock });
    for (const { elector } of this.candidates) this.#runs.push(elector.run(work, { signal: this.#stop.signal }));
    await this.clock.advance(100);
    return this;
  }

  /** Begins to stop. The electors give their leaderships up. */
  stop(): void {
    this.#stop.abort();
  }

  async ask(path: string, options: RequestOptions = {}): Promise<Answered> {
    const target = this.url.startsWith("unix:") ? { socketPath: this.url.slice("unix:".length) } : new URL(this.url);
    const sent = request({
      ...(target instanceof URL ? { host: target.hostname, port: target.port } : target),
      agent: false,
      path,
      ...options,
    });
    const answered = new Promise<Answered>((resolve, reject) => {
      sent.once("error", reject);
      sent.once("response", (response) => {
        text(response)
          .then((body) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body, json: parsed(body) }))
          .catch(reject);
      });
    });
    sent.end();
    return await answered;
  }

  /** Returns the statuses of some paths. */
  async statuses(...paths: readonly string[]): Promise<readonly number[]> {
    return await Promise.all(paths.map(async (path) => (await this.ask(path)).status));
  }

  async post(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answered> {
    return await this.ask(path, { method: "POST", headers: { authorization: `Bearer ${TOKEN}`, ...headers } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    for (const run of this.#runs) await this.clock.runUntil(run);
    await this.#server?.[Symbol.asyncDispose]();
  }
}

async function untilEnded({ ended }: { readonly ended: Promise<Error> }): Promise<void> {
  await ended;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}
