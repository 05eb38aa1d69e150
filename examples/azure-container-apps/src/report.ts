/** Prints a line that the alert rules of @leasehold/infra-azure count. */
export function report(leasehold: "leader" | "done" | "failed", facts: Readonly<Record<string, unknown>>): void {
  console.log(JSON.stringify({ leasehold, ...facts }));
}
