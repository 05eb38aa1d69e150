import { ProviderResource } from "@leasehold/infra-terrain";
import type { Placed } from "./placed.ts";

export interface ApplicationInsightsArguments extends Placed {
  readonly application_type: "web";
  readonly workspace_id: string;
  /** Only identities with the right may send telemetry. The connection string alone is not enough. */
  readonly local_authentication_disabled: true;
}

export class ApplicationInsights extends ProviderResource<ApplicationInsightsArguments> {
  static override readonly terraformType: string = "azurerm_application_insights";

  get connectionString(): string {
    return this.getStringAttribute("connection_string");
  }
}

export interface LogAlertArguments extends Placed {
  readonly description: string;
  readonly scopes: readonly string[];
  /** From 0 (critical) to 4. */
  readonly severity: number;
  readonly evaluation_frequency: string;
  readonly window_duration: string;
  readonly auto_mitigation_enabled: true;
  /** A table of logs exists only once it has a line. A validation of the query would fail before. */
  readonly skip_query_validation: true;
  readonly criteria: readonly {
    readonly query: string;
    readonly time_aggregation_method: "Count";
    readonly operator: "LessThan" | "GreaterThan";
    readonly threshold: number;
  }[];
  readonly action?: { readonly action_groups: readonly string[] };
}

export class LogAlert extends ProviderResource<LogAlertArguments> {
  static override readonly terraformType: string = "azurerm_monitor_scheduled_query_rules_alert_v2";
}

export interface MetricAlertArguments {
  readonly name: string;
  readonly resource_group_name: string;
  readonly description: string;
  readonly scopes: readonly string[];
  /** From 0 (critical) to 4. */
  readonly severity: number;
  readonly frequency: string;
  readonly window_size: string;
  readonly criteria: readonly {
    readonly metric_namespace: string;
    readonly metric_name: string;
    readonly aggregation: string;
    readonly operator: "LessThan" | "GreaterThan";
    readonly threshold: number;
  }[];
  readonly action?: readonly { readonly action_group_id: string }[];
}

export class MetricAlert extends ProviderResource<MetricAlertArguments> {
  static override readonly terraformType: string = "azurerm_monitor_metric_alert";
}
