/** The app of the README, compiled. Packaging synthesizes it where only the packed packages are. */
import { AzapiProvider, AzurermProvider, CandidateApp, LeaseContainer, ResourceGroup, synthesize } from "@leasehold/infra-azure";
import { App, TerraformStack } from "cdktn";

const app = new App();
const stack = new TerraformStack(app, "leasehold");
new AzurermProvider(stack, "Azure", { subscription_id: "00000000-0000-0000-0000-000000000000" });
new AzapiProvider(stack, "Azapi", { subscription_id: "00000000-0000-0000-0000-000000000000" });
const resourceGroup = new ResourceGroup(stack, "Group", { name: "leasehold", location: "westeurope" });
const leases = new LeaseContainer(stack, "Leases", { resourceGroup, accountName: "acmeleases" });
const image = "acme.azurecr.io/leasehold:1";
new CandidateApp(stack, "Billing", { leases, elections: ["billing"], resourceGroup, name: "billing", image });
leases.grantObserver({ principalId: "00000000-0000-0000-0000-000000000000", principalType: "Group" }, "billing");
synthesize(app);
