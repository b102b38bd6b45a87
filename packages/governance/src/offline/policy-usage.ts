/** The help of `policy`. This file imports nothing, so that `provost policy --help` loads no policy. */
export const policyUsage: string = `policy test LOG… --policy FILE [options]   compares a policy with recorded verdicts
policy report LOG… [options]               what the policy of the logs asked

LOG      the output of exportSession
FILE     a module that exports policy, agents and tools; it is executed

--policy FILE        the policy; of a report: judge with it instead of reporting the record
--agents FILE        a module that exports agents and tools, where FILE has none
--against WHAT       recorded (default), or the FILE of another policy
--fail-on CHANGE     loosened (default), tightened, any
--rederive           derive contracts again instead of reading them from the log
--values             show values of arguments
--json               print the result as JSON
--help               print this

What a human had refused and the policy allows always fails, and so does a call that cannot be judged.
Exit code: 0 passed, 1 failed, 2 a log cannot be read or its audit is broken, 3 a policy or an argument is invalid.
`
