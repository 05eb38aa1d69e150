import { MemoryLeaseStore, StoreError, type StoreErrorCode } from "@leasehold/core";
import { MemoryRecordStore, RecordLeaseStore, type RecordStore } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import type { Ran } from "@leasehold/test-kit/processes/leasehold-command";
import { vi } from "vitest";
import { runCommand } from "../src/command.ts";
import type { Surroundings } from "../src/surroundings.ts";

/** The command in this process: on a store in memory, in virtual time, with everything that it says kept. */
export class CapturedCommand {
  readonly clock = new VirtualClock();
  store: RecordLeaseStore = new MemoryLeaseStore({ clock: this.clock });
  readonly env: Record<string, string | undefined> = { LEASEHOLD_STORE: "sqlite:///never/opened.db" };
  /** The URLs that were opened. */
  readonly opened: string[] = [];
  /** The questions that were asked. */
  readonly questions: string[] = [];
  /** What happens before an answer. */
  whileAsking: () => Promise<void> = () => Promise.resolve();
  /** What is answered to each question; undefined where nobody sits at a terminal. */
  answer: boolean | undefined;
  /** Why the store cannot be opened. */
  refusal: Error | undefined;
  isTerminal = false;
  platform: NodeJS.Platform = "linux";
  readonly stop = new AbortController();
  stdout = "";
  stderr = "";

  /** Has the command open a store whose service tells no ages, and that has seen nothing yet. Returns another's, to lead by. */
  usesStoreWithoutClock(): RecordLeaseStore {
    const records = new MemoryRecordStore(this.clock);
    const ageless: RecordStore = {
      name: records.name,
      capabilities: { ...records.capabilities, storeClock: undefined },
      async get(election) {
        const stored = await records.get(election);
        return stored && { data: stored.data, version: stored.version };
      },
      put: (election, record, options) => records.put(election, record, options),
    };
    this.store = new RecordLeaseStore(ageless, { clock: this.clock });
    return new RecordLeaseStore(ageless, { clock: this.clock });
  }

  /** Has the store fail, until the function that is returned is called. */
  failsWith(code: StoreErrorCode): () => void {
    const details = { store: "memory", operation: "read", mayHaveBeenApplied: false };
    const failing = vi.spyOn(this.store, "read").mockRejectedValue(new StoreError(code, `${code} of old.`, details));
    return () => failing.mockRestore();
  }

  /** Resolves once the verb's file is loaded, and everything was done that takes no time. */
  async untilLoaded(): Promise<void> {
    while (this.opened.length === 0) await new Promise(setImmediate);
    await this.clock.settle();
  }

  /** Starts it; time passes only when the test says so. */
  start(...args: string[]): Promise<Ran> {
    this.stdout = "";
    this.stderr = "";
    return runCommand(args, this.#surroundings()).then((exitCode) => ({ exitCode, stdout: this.stdout, stderr: this.stderr }));
  }

  /** Runs it to its end, in as much virtual time as it takes. */
  async run(...args: string[]): Promise<Ran> {
    let isOver = false;
    const running = this.start(...args).finally(() => (isOver = true));
    while (!isOver) {
      // A verb's file is loaded in real time.
      await new Promise(setImmediate);
      await this.clock.step();
    }
    return await running;
  }

  #surroundings(): Surroundings {
    const { isTerminal } = this;
    const ask = async (question: string): Promise<boolean> => {
      this.questions.push(question);
      await this.whileAsking();
      return this.answer === true;
    };
    const open: Surroundings["openStore"] = async (url) => {
      this.opened.push(url);
      if (this.refusal) throw this.refusal;
      const dispose = async (): Promise<void> => await Promise.resolve();
      return await Promise.resolve(Object.assign(this.store, { [Symbol.asyncDispose]: dispose }));
    };
    return {
      env: this.env,
      platform: this.platform,
      stdout: { isTerminal, write: (text) => (this.stdout += text) },
      stderr: { isTerminal, write: (text) => (this.stderr += text) },
      clock: this.clock,
      openStore: open,
      openUsedStore: open,
      ask: this.answer === undefined ? undefined : ask,
      untilStopped: () => this.stop.signal,
      watchNpx: () => ({ [Symbol.dispose]: () => {} }),
    };
  }
}
