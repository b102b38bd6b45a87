/** What `--help` prints. */
export const help = `Makes a Provost project.

Usage: npm create provost [DIR] -- [options]

  -n, --name DIR            folder of the project, new or empty; its last part is the package name
  -t, --template TEMPLATE   script   one file: an agent with one tool
                            server   an HTTP server with a chat page
                            team     several agents, an approval, and sessions in SQLite
                            next     a Next application with a chat page of useChat
  -p, --provider PROVIDER   none (a scripted model, no key), anthropic, openai
  -y, --yes                 takes the defaults instead of asking: my-agent, script, none
      --no-install          leaves out the installation of the dependencies
      --json                one JSON object on stdout; asks nothing
      --help                this text
      --version             the version

In a terminal, it asks for a missing name or template, and then for the provider. Exit codes: 0 created; 1 failed;
2 invalid arguments; 130 cancelled.
`
