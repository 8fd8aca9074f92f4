"""How externs are imported, made and called in the printed text."""

from specc.printing.text import print_text
from tests.unit.check.specs import facts
from tests.unit.check.test_externs import GATE, OWN, changed, spec


def model_of(text: str) -> tuple[str, str]:
    """The import lines and the model's section."""
    printed = print_text(facts(text))
    return "\n".join(printed.imports), printed.sections[0].code


def test_a_class_is_made_with_its_arguments_and_a_function_is_called() -> None:
    imports, code = model_of(spec())
    assert imports == "from own import Own, gate"
    assert 'self.own = own_module(lambda: Own(D, mode="fast"))' in code
    assert "gate(x, y)" in code


def test_each_module_that_draws_its_own_weights_has_a_row() -> None:
    body = "blocks: repeat 3 Own\n  own: Own\n  return Gate(own(blocks(x)), a(x))"
    printed = print_text(facts(spec(body=body)))
    weights = printed.sections[1].code
    made = 'lambda: Own(D, mode="fast")'
    assert f'OWN = {{\n    "blocks.*": {made},\n    "own": {made},\n}}' in weights
    assert "init_weights(model, INIT, SEED, skip=init_own(model, OWN, SEED))" in weights


def test_arguments_stay_expressions_over_the_constants_of_the_script() -> None:
    _, code = model_of(changed('init(d, mode = "fast")', "init(d/2, a = width*dp, b = [d, 1])"))
    assert "lambda: Own(D // 2, a=8 * DP, b=(D, 1))" in code


def test_a_name_that_is_taken_gives_way_to_the_one_in_the_spec() -> None:
    clash = GATE.replace("own:gate", "own:train")
    imports, code = model_of(spec(OWN + clash))
    assert imports == "from own import Own\nfrom own import train as Gate"
    assert "Gate(x, y)" in code


def test_two_modules_may_have_the_same_name() -> None:
    other = GATE.replace("own:gate", "second:Own")
    imports, _ = model_of(spec(OWN + other))
    assert imports == "from own import Own\nfrom second import Own as Gate"


def test_a_value_may_be_called_as_the_function_that_makes_it() -> None:
    _, code = model_of(spec(body="own: Own\n  gate = Gate(x, own(a(x)))\n  return gate"))
    assert "gate = gate(" not in code
