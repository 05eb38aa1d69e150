import { AzurermProvider, CandidateApp, LeaderScheduledFunction, LeaseContainer, ResourceGroup } from "@leasehold/infra-azure";
import { LocalBackend, TerraformOutput, TerraformStack, TerraformVariable } from "cdktn";
import type { Construct } from "constructs";

/** All of it in one resource group: the leases, two candidates that run all the time, and a timer. */
export class LeaseholdStack extends TerraformStack {
  constructor(scope: Construct, id: string) {
    super(scope, id);
    const variable = (name: string, description: string, otherwise?: string): string =>
      new TerraformVariable(this, name, { type: "string", description, default: otherwise }).stringValue;

    // Beside the app, and not in what is written anew at each synth.
    new LocalBackend(this, { path: "../../../leasehold.tfstate" });
    new AzurermProvider(this, "Azure", {
      features: {},
      storage_use_azuread: true,
      subscription_id: variable("subscription", "The subscription's id"),
    });
    const resourceGroup = new ResourceGroup(this, "Group", {
      name: "leasehold",
      location: variable("location", "A region with availability zones", "westeurope"),
    });

    const leases = new LeaseContainer(this, "Leases", {
      resourceGroup,
      accountName: variable("lease_account", "The leases' storage account: a name that nobody else has"),
      deleteOccurrencesAfterDays: 8,
    });
    const billing = new CandidateApp(this, "Billing", {
      leases,
      elections: ["billing"],
      resourceGroup,
      name: "billing",
      image: variable("billing_image", "The candidates' container image"),
    });
    const report = new LeaderScheduledFunction(this, "NightlyReport", {
      leases,
      elections: ["nightly-report"],
      resourceGroup,
      name: variable("report_app", "The function app's name, which nobody else has"),
      hostAccountName: variable("host_account", "The function platform's storage account: another name that nobody else has"),
      schedule: "0 0 3 * * *",
    });

    new TerraformOutput(this, "lease_account_url", { value: leases.accountUrl });
    new TerraformOutput(this, "billing_principal", { value: billing.identity.principalId });
    new TerraformOutput(this, "report_principal", { value: report.identity.principalId });
  }
}
