"""The report of a ledger as comma-separated text, written by hand because a library seemed too much for three columns."""

entries = [(index, f"account-{index % 97}", (index * 7919) % 100_003) for index in range(12_000)]


def render():
    lines, balance = [], 0
    for number, account, amount in entries:
        balance += amount
        name = account.upper().replace("-", " ")
        lines.append(f"{number};{name};{amount / 100:.2f};{balance / 100:.2f}")
    return "\n".join(lines)


def workload():
    return render()
