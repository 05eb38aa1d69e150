import type { Entry } from "./payments.ts";

/**
 * Returns the verdict on a ledger.
 * @throws if a payment is in it twice or out of order, or if an older leader's entry comes after a newer's.
 */
export function verdictOn(ledger: readonly Entry[]): string {
  const faults = ledger.flatMap(({ payment, term }, index) => {
    const before = ledger[index - 1] ?? { payment: 0, term: 0 };
    return [
      ...(payment === before.payment + 1 ? [] : [`payment ${payment} (term ${term}) comes after payment ${before.payment}`]),
      ...(term >= before.term ? [] : [`term ${term} wrote after term ${before.term}`]),
    ];
  });
  if (faults.length > 0) throw new Error(faults.join("\n"));
  return `${ledger.length} payments, each once and in order`;
}
