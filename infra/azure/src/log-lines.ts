/**
 * The kinds of lines that programs in Container Apps print for alerts, each a line of JSON. A leader prints
 * `{"leasehold":"leader","election":"billing","term":3}` once a minute. A job prints `{"leasehold":"done","election":"report"}`
 * for an occurrence that is done, and `"failed"` for one that failed. examples/azure-container-apps prints them.
 */
export type LineKind = "leader" | "done" | "failed";

/**
 * Returns a Kusto query for the lines of one kind about one election, as `line`.
 * https://learn.microsoft.com/azure/container-apps/log-monitoring
 */
export function linesQuery(kind: LineKind, election: string): string {
  return `ContainerAppConsoleLogs_CL
| where Log_s has "leasehold"
| extend line = parse_json(Log_s)
| where tostring(line.leasehold) == "${kind}" and tostring(line.election) == "${kustoText(election)}"`;
}

/**
 * Returns a Kusto query for the lines of `onlyAsLeader` that show an election's occurrence as done. There is one line for each
 * invocation. This invocation or another region's may have done the occurrence.
 * https://learn.microsoft.com/azure/azure-monitor/reference/tables/apptraces
 */
export function doneByFunctionQuery(appName: string, election: string): string {
  return `AppTraces
| where AppRoleName =~ "${appName}" and Message has "outcome"
| extend line = parse_json(Message)
| where tostring(line.election) == "${kustoText(election)}"
| where tostring(line.outcome) == "ran" or tostring(line.reason) == "done"`;
}

/** Returns the inside of a Kusto string. Escapes every character that Kusto or Terraform could read as syntax. */
function kustoText(text: string): string {
  return text.replace(/[^A-Za-z0-9 _.-]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
