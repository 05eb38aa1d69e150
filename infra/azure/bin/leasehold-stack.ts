import {
  ActionGroup,
  AzapiProvider,
  AzurermProvider,
  CandidateApp,
  CandidateJob,
  ContainerEnvironment,
  ElectionAlerts,
  LeaderScheduledFunction,
  LeaseContainer,
  ResourceGroup,
  RunAlerts,
} from "@leasehold/infra-azure";
import { LocalBackend, TerraformOutput, TerraformStack, TerraformVariable } from "cdktn";
import type { Construct } from "constructs";

/**
 * The whole setup in one resource group: the leases, two candidates that run all the time, an hourly job, a nightly timer,
 * alerts.
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
    const resourceGroup = new ResourceGroup(this, "Group", {
      name: "leasehold",
      location: variable("location", "A region with availability zones", "westeurope"),
    });

    const leases = new LeaseContainer(this, "Leases", {
      resourceGroup,
      accountName: variable("lease_account", "The leases' storage account: a name that nobody else has"),
      deleteOccurrencesAfterDays: 8,
    });
    // The programs of examples/azure-container-apps, in one image.
    const programs = {
      leases,
      resourceGroup,
      image: variable("image", "The image of the programs, such as acme.azurecr.io/leasehold:1"),
      registry: {
        server: variable("registry_server", "The registry's login server, such as acme.azurecr.io"),
        id: variable("registry_id", "The registry's resource id"),
      },
      containerEnvironment: new ContainerEnvironment(this, "Containers", { resourceGroup, name: "leasehold" }),
    };
    const billing = new CandidateApp(this, "Billing", { ...programs, elections: ["billing"], name: "billing" });
    const settlement = new CandidateJob(this, "Settlement", {
      ...programs,
      elections: ["settlement"],
      name: "settlement",
      command: ["node", "dist/job.js"],
      schedule: "0 * * * *",
    });
    // The code of examples/azure-functions.
    const report = new LeaderScheduledFunction(this, "NightlyReport", {
      leases,
      elections: ["nightly-report"],
      resourceGroup,
      name: variable("report_app", "The function app's name, which nobody else has"),
      hostAccountName: variable("host_account", "The function platform's storage account: another name that nobody else has"),
      schedule: "0 0 3 * * *",
      workspaceId: programs.containerEnvironment.workspaceId,
    });

    const page = new ActionGroup(this, "Page", {
      name: "leasehold",
      resource_group_name: resourceGroup.name,
      short_name: "leasehold",
      email_receiver: [{ name: "owner", email_address: variable("alert_email", "Who hears of alerts") }],
    });
    const alerts = { resourceGroup, actionGroupIds: [page.id] };
    new ElectionAlerts(this, "BillingAlerts", { ...alerts, name: "billing", app: billing, election: "billing", leases });
    new RunAlerts(this, "SettlementAlerts", { ...alerts, name: "settlement", of: settlement, notRunForHours: 2 });
    new RunAlerts(this, "ReportAlerts", { ...alerts, name: "nightly-report", of: report, notRunForHours: 25 });

    new TerraformOutput(this, "lease_account_url", { value: leases.accountUrl });
    new TerraformOutput(this, "billing_principal", { value: billing.identity.principalId });
    new TerraformOutput(this, "settlement_principal", { value: settlement.identity.principalId });
    new TerraformOutput(this, "report_principal", { value: report.identity.principalId });
  }
}
