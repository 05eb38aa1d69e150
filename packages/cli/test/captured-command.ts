import { MemoryLeaseStore, StoreError, type StoreErrorCode } from "@leasehold/core";
import { MemoryRecordStore, RecordLeaseStore, type Lease, type RecordStore } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { win } from "@leasehold/test-kit/acquisitions";
import type { Ran } from "@leasehold/test-kit/processes/leasehold-command";
import { vi } from "vitest";
import { runCommand } from "../src/command.ts";
import type { ProcessEnvironment } from "../src/verb.ts";

/** The command in this process, on a store in memory and in virtual time. It captures all output. */
export class CapturedCommand {
  readonly clock = new VirtualClock();
  store: RecordLeaseStore = new MemoryLeaseStore({ clock: this.clock });
  readonly env: Record<string, string | undefined> = { LEASEHOLD_STORE: "sqlite:///never/opened.db" };
  /** The URLs that were opened. */
  readonly opened: string[] = [];
  /** The questions that were asked. */
  readonly questions: string[] = [];
  /** Runs before each answer. */
  whileAsking: () => Promise<void> = () => Promise.resolve();
  /** The answer to each question. Undefined without a terminal. */
  answer: boolean | undefined;
  /** The error that opening the store throws. */
  refusal: Error | undefined;
  isTerminal = false;
  platform: NodeJS.Platform = "linux";
  readonly stop = new AbortController();
  stdout = "";
  stderr = "";

  /** Makes the command open a store that has no clock and has observed nothing. Returns another process's store, to lead with. */
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

  /** Makes a candidate lead, with a lease of 15 s. Its last renewal is now. @throws if it does not win. */
  async lead(election: string, candidateId: string, value?: string): Promise<Lease> {
    return await win(this.store, { election, candidateId, value });
  }

  /** Makes the store fail until the returned function is called. */
  failsWith(code: StoreErrorCode): () => void {
    const details = { store: "memory", operation: "read", mayHaveBeenApplied: false };
    const failing = vi.spyOn(this.store, "read").mockRejectedValue(new StoreError(code, `${code} of old.`, details));
    return () => failing.mockRestore();
  }

  /** Resolves once the verb's file is loaded, and every step that takes no time is done. */
  async untilLoaded(): Promise<void> {
    while (this.opened.length === 0) await new Promise(setImmediate);
    await this.clock.settle();
  }

  /** Starts the command. Time passes only when the test advances the clock. */
  start(...args: string[]): Promise<Ran> {
    this.stdout = "";
    this.stderr = "";
    return runCommand(args, this.#environment()).then((exitCode) => ({ exitCode, stdout: this.stdout, stderr: this.stderr }));
  }

  /** Runs the command to its end, in as much virtual time as it needs. */
  async run(...args: string[]): Promise<Ran> {
    let isOver = false;
    const running = this.start(...args).finally(() => (isOver = true));
    while (!isOver) {
      // The verb's file is loaded in real time.
      await new Promise(setImmediate);
      await this.clock.step();
    }
    return await running;
  }

  #environment(): ProcessEnvironment {
    const { isTerminal } = this;
    const ask = async (question: string): Promise<boolean> => {
      this.questions.push(question);
      await this.whileAsking();
      return this.answer === true;
    };
    const open: ProcessEnvironment["openStore"] = async (url) => {
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
