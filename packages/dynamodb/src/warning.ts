/** The causes that this process has been warned of. */
const warned = new Set<string>();

/** Tells the operator of something that goes on working, once in a process for each cause. */
export function warnOnce(code: `LEASEHOLD_${string}`, cause: string, message: string): void {
  const key = `${code} ${cause}`;
  if (warned.has(key)) return;
  warned.add(key);
  process.emitWarning(message, { type: "LeaseholdWarning", code });
}
