/** Leaves out what differs from run to run. */
export function steady(line: string): string {
  return (
    line
      // Of two requests at once either may fail first.
      .replace(/'leasehold-quorum-marker'/, "'leasehold-quorum-members'")
      .replace(/ \[request [^\]]*\]/, "")
      .replace(/EAI_AGAIN/, "ENOTFOUND")
      // Where a first write that could win at once was too slow, on a busy machine, a look follows.
      .replace(/'(?:get|put)' of/, "'get' or 'put' of")
      .replace(/in \d+ s\.$/, "in 15 s.")
  );
}
