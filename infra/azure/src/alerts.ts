import type { Construct } from "constructs";
import type { ResourceGroupReference } from "./lease-container.ts";
import { ProviderResource } from "../../terraform.ts";

/** The properties that all alert rules have in common. */
export interface AlertProps {
  readonly resourceGroup: ResourceGroupReference;
  /** The prefix of the rules' names. No other rules of the resource group may have it. */
  readonly name: string;
  /**
   * The ids of the action groups that are notified.
   * @default - none: alerts are only visible in the portal
   */
  readonly actionGroupIds?: readonly string[];
}

/** The settings of one rule over logs. */
export interface LogRule {
  readonly what: string;
  readonly description: string;
  readonly workspaceId: string;
  /** The query in Kusto. The rule counts its rows. */
  readonly query: string;
  readonly alertIf: { readonly fewerThan: number } | { readonly moreThan: number };
  /** The time that the query covers, and the time between two runs, both in ISO 8601. */
  readonly window: string;
  readonly every: string;
  readonly severity: number;
}

/** Error, on Azure's scale from 0 (critical) to 4. */
export const ERROR = 1;
export const WARNING = 2;

/** Makes a rule over the logs in a workspace of Log Analytics. */
export function logAlert(scope: Construct, id: string, props: AlertProps, rule: LogRule): ProviderResource {
  const { resourceGroup, name, actionGroupIds = [] } = props;
  const { alertIf } = rule;
  const criterion =
    "fewerThan" in alertIf
      ? { operator: "LessThan", threshold: alertIf.fewerThan }
      : { operator: "GreaterThan", threshold: alertIf.moreThan };
  return new ProviderResource(scope, id, "azurerm_monitor_scheduled_query_rules_alert_v2", {
    name: `${name}-${rule.what}`,
    resource_group_name: resourceGroup.name,
    location: resourceGroup.location,
    description: rule.description,
    scopes: [rule.workspaceId],
    severity: rule.severity,
    evaluation_frequency: rule.every,
    window_duration: rule.window,
    auto_mitigation_enabled: true,
    // A table of logs exists only once it has a line. A validation of the query would fail before.
    skip_query_validation: true,
    criteria: [{ query: rule.query, time_aggregation_method: "Count", ...criterion }],
    ...(actionGroupIds.length > 0 ? { action: { action_groups: actionGroupIds } } : {}),
  });
}
