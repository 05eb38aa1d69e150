/**
 * What programs in Container Apps print for alerts to see, each a line of JSON: `{"leasehold":"leader","election":"billing",
 * "term":3}` once a minute where somebody leads, `{"leasehold":"done","election":"report"}` for an occurrence that is done, and
 * `"failed"` for one that is not. examples/azure-container-apps prints them.
 */
export type LineKind = "leader" | "done" | "failed";

/**
 * In Kusto: the lines of one kind about one election, as `line`.
 * https://learn.microsoft.com/azure/container-apps/log-monitoring
 */
export function linesQuery(kind: LineKind, election: string): string {
  return `ContainerAppConsoleLogs_CL
| where Log_s has "leasehold"
| extend line = parse_json(Log_s)
| where tostring(line.leasehold) == "${kind}" and tostring(line.election) == "${kustoText(election)}"`;
}

/**
 * In Kusto: the lines of `onlyAsLeader`, one at the end of each invocation, in which an election's occurrence is seen to be done,
 * by this invocation or by another region's. https://learn.microsoft.com/azure/azure-monitor/reference/tables/apptraces
 */
export function doneByFunctionQuery(appName: string, election: string): string {
  return `AppTraces
| where AppRoleName =~ "${appName}" and Message has "outcome"
| extend line = parse_json(Message)
| where tostring(line.election) == "${kustoText(election)}"
| where tostring(line.outcome) == "ran" or tostring(line.reason) == "done"`;
}

/** The inside of a string of Kusto's, with nothing in it that Kusto or Terraform could read as something else. */
function kustoText(text: string): string {
  return text.replace(/[^A-Za-z0-9 _.-]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
