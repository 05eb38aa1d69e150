/**
 * Returns a Kusto query for the lines of `publishMetrics` about one election in which this field is 1. Container Apps make the table
 * with the first line of output. Until then the query finds no rows instead of failing, so an alert on too few rows can go off.
 * https://learn.microsoft.com/azure/container-apps/log-monitoring
 */
export function linesQuery(field: "HasLeader" | "Transitions", election: string): string {
  return `union isfuzzy=true (datatable(TimeGenerated:datetime, Log_s:string)[]), ContainerAppConsoleLogs_CL
| where Log_s has "${field}"
| extend line = parse_json(Log_s)
| where tostring(line.Election) == "${kustoText(election)}" and toint(line.${field}) == 1`;
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
