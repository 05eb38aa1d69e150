import {
  UnsupportedError,
  type BreakOptions,
  type BreakOutcome,
  type RepairOptions,
  type RepairOutcome,
  type TransferOptions,
  type TransferOutcome,
} from "@leasehold/core";
import { cannotPause, checkName, type Administration, type Clock } from "@leasehold/core/provider";
import { administrationOf } from "./administration.ts";
import { NAME } from "./capabilities.ts";
import type { Electorate } from "./poll.ts";

/** The administrator's calls, which are the same for a server and for an observer. */
export class AdministeredStore {
  readonly name: string = NAME;
  readonly clock: Clock;
  readonly #administration: Administration;

  constructor(electorate: Electorate) {
    this.clock = electorate.clock;
    this.#administration = administrationOf(electorate);
  }

  async break(election: string, options: BreakOptions): Promise<BreakOutcome> {
    return await this.#administration.break(election, options);
  }

  async transfer(election: string, candidateId: string, options?: TransferOptions): Promise<TransferOutcome> {
    return await this.#administration.transfer(election, candidateId, options);
  }

  /** @throws {UnsupportedError} always: the servers raise terms by themselves. */
  async repair(election: string, _options?: RepairOptions): Promise<RepairOutcome> {
    checkName("election", election);
    throw new UnsupportedError(
      "Servers that vote raise terms by themselves: no administrator sets them. Start the candidates with a minTerm above every term that a fenced resource has seen.",
      { election },
    );
  }

  /** @throws {UnsupportedError} always: this store keeps no pause. */
  async pause(election: string): Promise<never> {
    return cannotPause(this.name, election);
  }

  /** @throws {UnsupportedError} always: this store keeps no pause. */
  async resume(election: string): Promise<never> {
    return cannotPause(this.name, election);
  }
}
