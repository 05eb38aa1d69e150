import type { TestContext } from "vitest";
import { CandidateProcess } from "@leasehold/test-kit/candidates/candidate-process";
import type { CandidateSettings } from "@leasehold/test-kit/candidates/candidate";
import { ledTerms, printHistories } from "@leasehold/test-kit/candidates/history";
import type { Histories } from "@leasehold/test-kit/candidates/history";
import { judge } from "@leasehold/test-kit/judge";
import { hostMs } from "@leasehold/test-kit/clocks/host-clock";
import { inTurn } from "@leasehold/test-kit/candidates/turns";

/** The processes that compete in one election. */
export class Cast {
  readonly #candidates: CandidateProcess[] = [];

  /** Prints the history if the test fails. */
  constructor(onTestFailed: TestContext["onTestFailed"]) {
    onTestFailed(({ task }) => {
      const stderr = this.#candidates.map((candidate) => candidate.stderr).join("");
      // A person reads the history to find the cause.
      console.error(`${task.name}\n${printHistories(this.#histories)}\n${stderr}`);
    });
  }

  /** Resolves when the process is about to compete. */
  async start(settings: CandidateSettings): Promise<CandidateProcess> {
    return await inTurn(async () => {
      const candidate = new CandidateProcess(settings);
      this.#candidates.push(candidate);
      await candidate.said("ready");
      return candidate;
    });
  }

  /** The faults of the election's history so far: see {@link judge}. */
  get faults(): readonly string[] {
    return judge([...this.#histories].flatMap(([candidateId, lines]) => ledTerms(candidateId, lines, hostMs())));
  }

  /** Kills every process. */
  async end(): Promise<void> {
    await Promise.all(this.#candidates.map(async (candidate) => candidate.end()));
  }

  get #histories(): Histories {
    return new Map(this.#candidates.map(({ candidateId, lines }) => [candidateId, lines]));
  }
}
