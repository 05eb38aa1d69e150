import { Annotations, Token } from "cdktn";
import type { IConstruct } from "constructs";

/**
 * Checks the number of candidates.
 * @throws {Error} unless it is a whole number from 1. With 1 there is a warning, because there is no standby.
 */
export function checkCandidates(scope: IConstruct, candidates: number): void {
  if (Token.isUnresolved(candidates)) return;
  if (!Number.isInteger(candidates) || candidates < 1) {
    throw new Error(`candidates is ${candidates}; it must be a whole number from 1. With 2 one leads and one stands by.`);
  }
  if (candidates === 1) {
    Annotations.of(scope).addWarning(
      "There is 1 candidate, and so nobody to take over while it restarts. Set candidates to 2 or more.",
    );
  }
}

/** Returns a container's environment in the format of the providers' blocks. */
export function environmentBlocks(
  environment: Readonly<Record<string, string>>,
): { readonly name: string; readonly value: string }[] {
  return Object.entries(environment).map(([name, value]) => ({ name, value }));
}
