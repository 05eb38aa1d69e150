import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import type { Etcd } from "../backends/etcd.ts";

/** A key of an election, and its value: the value that a candidate there has proclaimed. */
export interface Elected {
  readonly key: string;
  readonly value: string;
}

/**
 * `etcdctl elect`, which uses the election of etcd's Go client (`concurrency.Election`). With a value it is a candidate that
 * leads until it resigns; without one it is an observer.
 */
export class ElectProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #said: Elected[] = [];
  readonly #ended: Promise<void>;
  #stderr = "";
  #heard = Promise.withResolvers<void>();

  constructor(etcd: Pick<Etcd, "ctlFlags">, election: string, value?: string) {
    const args = value === undefined ? ["--listen", election] : [election, value];
    this.#child = spawn("etcdctl", ["elect", ...etcd.ctlFlags, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ended = promise;
    this.#child.once("close", () => resolve());
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.#stderr += text));
    let key: string | undefined;
    createInterface(this.#child.stdout!).on("line", (line) => {
      if (key === undefined) return void (key = line);
      this.#said.push({ key, value: line });
      key = undefined;
      this.#heard.resolve();
      this.#heard = Promise.withResolvers();
    });
  }

  /** The keys that it has printed so far: its own one once it leads, or, if it is an observer, that of each leader. */
  get said(): readonly Elected[] {
    return this.#said;
  }

  /** Waits for the key that it prints as number `index`, from 0. @throws if it ends without it. */
  async says(index = 0): Promise<Elected> {
    const over = this.#ended.then(() => true);
    for (;;) {
      const found = this.#said[index];
      if (found !== undefined) return found;
      if (await Promise.race([this.#heard.promise, over])) throw new Error(`etcdctl has ended: ${this.#stderr}`);
    }
  }

  /** Makes it resign, as Ctrl-C does. Resolves once it has. */
  async resign(): Promise<void> {
    this.#child.kill("SIGINT");
    await this.#ended;
  }

  /** Kills it. Its key stays until its lease of a minute ends or is revoked. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }
}
