import {
  AzapiProvider,
  AzurermProvider,
  CandidateApp,
  ElectionAlerts,
  LeaderScheduledFunction,
  LeaseContainer,
  RunAlerts,
} from "@leasehold/infra-azure";
import { LocalBackend, TerraformOutput, TerraformStack, TerraformVariable } from "cdktn";
import type { Construct } from "constructs";

/**
 * The whole setup in a resource group of yours: the leases, two candidates that run all the time, a nightly timer, alerts. The
 * group, the environment of Container Apps, the workspace of logs, the registry and the action group are there already.
 */
export class LeaseholdStack extends TerraformStack {
  constructor(scope: Construct, id: string) {
    super(scope, id);
    const variable = (name: string, description: string, otherwise?: string): string =>
      new TerraformVariable(this, name, { type: "string", description, default: otherwise }).stringValue;

    // Keep the state beside the app, because each synth rewrites the output folder.
    new LocalBackend(this, { path: "../../../leasehold.tfstate" });
    const subscription = variable("subscription", "The subscription's id");
    new AzurermProvider(this, "Azure", { subscription_id: subscription });
    new AzapiProvider(this, "Azapi", { subscription_id: subscription });
    const group = variable("group", "The resource group", "leasehold");
    const resourceGroup = {
      id: `/subscriptions/${subscription}/resourceGroups/${group}`,
      name: group,
      location: variable("location", "Its region, with availability zones", "westeurope"),
    };

    const leases = new LeaseContainer(this, "Leases", {
      resourceGroup,
      accountName: variable("lease_account", "The leases' storage account: a name that nobody else has"),
      deleteOccurrencesAfterDays: 8,
    });
    const workspaceId = variable("workspace_id", "The id of the workspace of logs");
    // The program of examples/azure-container-apps.
    const billing = new CandidateApp(this, "Billing", {
      leases,
      elections: ["billing"],
      resourceGroup,
      name: "billing",
      containerEnvironment: { id: variable("environment_id", "The id of the environment of Container Apps"), workspaceId },
      image: variable("image", "The image of the program, such as acme.azurecr.io/leasehold:1"),
      registry: {
        server: variable("registry_server", "The registry's login server, such as acme.azurecr.io"),
        identityId: variable("pull_identity_id", "The id of the identity that may pull from the registry"),
      },
    });
    // The code of examples/azure-functions.
    const report = new LeaderScheduledFunction(this, "NightlyReport", {
      leases,
      elections: ["nightly-report"],
      resourceGroup,
      name: variable("report_app", "The function app's name, which nobody else has"),
      hostAccountName: variable("host_account", "The function platform's storage account: another name that nobody else has"),
      schedule: "0 0 3 * * *",
      workspaceId,
    });

    const alerts = {
      resourceGroup,
      actionGroupIds: [variable("action_group_id", "The id of the action group that is notified")],
    };
    new ElectionAlerts(this, "BillingAlerts", { ...alerts, name: "billing", app: billing, election: "billing" });
    new RunAlerts(this, "ReportAlerts", { ...alerts, name: "nightly-report", of: report, notRunForHours: 25 });

    new TerraformOutput(this, "lease_account_url", { value: leases.accountUrl });
    new TerraformOutput(this, "billing_principal", { value: billing.identity.principalId });
    new TerraformOutput(this, "report_principal", { value: report.identity.principalId });
  }
}
